"""The order readout: which orders, what their mean is, and that the order sent leaves no trace."""

import random

import pytest
from hypothesis import given, strategies

from decision_adapter.decision import Option
from decision_adapter.order import MAX_ORDERS, average, orders


def options(*descriptions: str) -> list[Option]:
    return [Option(id=f"id-{text}-{index}", description=text) for index, text in enumerate(descriptions)]


def test_orders_are_rotations_of_the_sorted_options() -> None:
    assert orders(options("c", "a", "b")) == [(1, 2, 0), (2, 0, 1), (0, 1, 2)]


def test_of_many_options_the_rotations_start_evenly_apart() -> None:
    found = orders(options(*"abcdefghij"))
    assert [order[0] for order in found] == [0, 2, 5, 7]
    assert all(sorted(order) == list(range(10)) for order in found)


def test_options_that_read_the_same_are_told_apart_by_their_ids() -> None:
    same = [Option(id="b", description="x"), Option(id="a", description="x")]
    assert orders(same) == [(1, 0), (0, 1)]


@pytest.mark.parametrize("count", range(2, MAX_ORDERS + 1))
def test_up_to_as_many_options_as_orders_each_stands_once_in_every_place(count: int) -> None:
    found = orders(options(*(str(index) for index in range(count))))
    for place in zip(*found, strict=True):
        assert sorted(place) == list(range(count))


def test_mean_and_disagreement_by_hand() -> None:
    # given the options 0 and 1, which the model read as (1, 0) and then as (0, 1)
    mean = average([(1, 0), (0, 1)], [[0.2, 0.8], [0.6, 0.4]])
    # then option 0 got 0.8 and 0.6, option 1 got 0.2 and 0.4; each order is 0.1 away from 0.7 and 0.3
    assert mean.values == pytest.approx([0.7, 0.3])
    assert mean.disagreement == pytest.approx(0.1)


def test_orders_that_contradict_each_other_disagree_by_a_half() -> None:
    # given a model that always takes the first place
    mean = average([(0, 1), (1, 0)], [[1.0, 0.0], [1.0, 0.0]])
    assert (mean.values, mean.disagreement) == ([0.5, 0.5], 0.5)


def test_one_order_is_passed_on_to_the_bit_and_agrees_with_itself() -> None:
    mean = average([(0, 1, 2)], [[0.1, 0.2, 0.7]])
    assert (mean.values, mean.disagreement) == ([0.1, 0.2, 0.7], 0.0)


@given(strategies.lists(strategies.sampled_from("abcde"), min_size=2, max_size=12), strategies.randoms())
def test_orders_follow_from_the_set_of_options(descriptions: list[str], rng: random.Random) -> None:
    sent = options(*descriptions)
    shuffled = rng.sample(sent, len(sent))
    read = [[[group[index].id for index in order] for order in orders(group)] for group in (sent, shuffled)]
    assert read[0] == read[1]
