"""Looking through a preamble, with numbers by hand."""

import math

import numpy as np
import pytest

from decision_adapter.errors import ScoringError
from decision_adapter.preamble import PREAMBLES, Path, marginal, preamble_ids


def log(*weights: float) -> np.ndarray:
    return np.log(np.array(weights, dtype=np.float32))


def test_the_likeliest_tokens_that_are_no_label_are_looked_through() -> None:
    # given labels 0 and 1, and a likeliest token 4 that is neither
    assert preamble_ids(log(3, 1, 2, 4, 9, 1), [0, 1]) == [4, 3, 2]


def test_nothing_is_looked_through_when_a_label_is_likeliest() -> None:
    assert preamble_ids(log(3, 9, 2, 4, 8, 1), [0, 1]) == []


def test_of_equally_likely_tokens_the_lower_id_comes_first() -> None:
    assert preamble_ids(log(1, 5, 5, 5, 5, 5), [0]) == [1, 2, 3]


def test_a_vocabulary_can_have_fewer_other_tokens() -> None:
    assert preamble_ids(log(1, 1, 5), [0, 1]) == [2]
    assert PREAMBLES == 3


def test_the_marginal_by_hand() -> None:
    # given labels 0 and 1 of weight 1 each out of 10, and token 2 of weight 6 after which they weigh 3 and 1 out of 8
    found = marginal(log(1, 1, 6, 2), [0, 1], [(2, log(3, 1, 2, 2))])
    # then P(0) ∝ 0.1 + 0.6 · 3/8 = 0.325 and P(1) ∝ 0.1 + 0.6 · 1/8 = 0.175, half of all texts together
    assert found.probabilities == pytest.approx([0.65, 0.35])
    assert found.mass == pytest.approx(0.5)
    assert found.paths == [
        Path(None, 1.0, pytest.approx(0.2)),
        Path(2, pytest.approx(0.6), pytest.approx(0.3)),
    ]


def test_a_temperature_flattens_the_sum() -> None:
    # given the sums 0.325 and 0.175 of above
    found = marginal(log(1, 1, 6, 2), [0, 1], [(2, log(3, 1, 2, 2))], temperature=2.0)
    # then their roots count
    first, second = math.sqrt(0.325), math.sqrt(0.175)
    assert found.probabilities == pytest.approx([first / (first + second), second / (first + second)])
    assert found.mass == pytest.approx(0.5)


def test_without_a_preamble_it_is_the_direct_readout() -> None:
    found = marginal(log(3, 1, 4), [0, 1], [])
    assert found.probabilities == pytest.approx([0.75, 0.25])
    assert found.paths == [Path(None, 1.0, pytest.approx(0.5))]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_an_error_on_every_way(bad: float) -> None:
    with pytest.raises(ScoringError, match="1 of 2 logits are not finite"):
        preamble_ids(np.array([0, bad], dtype=np.float32), [0])
    with pytest.raises(ScoringError, match="1 of 2 logits are not finite"):
        marginal(log(1, 2), [0], [(1, np.array([0, bad], dtype=np.float32))])
