"""Two runs beside each other, by hand."""

import numpy as np
import pytest

from decide.evaluation.comparison import compare, mcnemar, mean_difference
from decide.evaluation.errors import ComparisonError
from tests.decide.evaluation.rows import row

RIGHT, WRONG = (0.8, 0.1, 0.1), (0.1, 0.8, 0.1)


def test_mcnemar_s_exact_test() -> None:
    assert mcnemar(1, 9) == pytest.approx(2 * (1 + 10) / 2**10)
    assert mcnemar(9, 1) == mcnemar(1, 9)
    assert mcnemar(5, 5) == 1
    assert mcnemar(0, 0) == 1


def test_rows_are_paired_by_id_and_counted() -> None:
    # given B in another order, one row without an answer, and one that A has not
    a = [row(1, RIGHT), row(2, RIGHT), row(3, WRONG), row(4, WRONG), row(5, RIGHT)]
    b = [row(4, WRONG), row(3, RIGHT), row(2, None), row(1, RIGHT), row(9, RIGHT)]
    # when
    found = compare(a, b)
    # then
    assert (found.rows, found.both, found.only_a, found.only_b, found.neither) == (4, 1, 1, 1, 1)
    assert found.other_choice == 2
    assert found.p_value == 1
    assert found.accuracy.mean == 0
    # rows 1 and 4 are the same, in row 3 A's label has 0.1 and B's 0.8
    assert found.log_loss is not None
    assert found.log_loss.rows == 3
    assert found.log_loss.mean == pytest.approx(np.log(0.8 / 0.1) / 3)


def test_runs_about_something_else_are_refused() -> None:
    with pytest.raises(ComparisonError, match="no row in common"):
        compare([row(1, RIGHT)], [row(2, RIGHT)])
    with pytest.raises(ComparisonError, match="'d-1' has another label"):
        compare([row(1, RIGHT)], [row(1, RIGHT, label="billing")])


def test_the_interval_of_a_mean_is_about_what_its_standard_error_says() -> None:
    values = np.random.default_rng(1).normal(0.3, 1, 400)
    found = mean_difference(values.tolist(), [str(index) for index in range(400)])
    half = 1.96 * values.std(ddof=1) / 20
    assert found.mean == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.02)
    assert found.clear


def test_rows_of_one_group_count_as_one() -> None:
    # given each value four times in a group of its own: as much evidence as once
    values = np.random.default_rng(2).normal(0.1, 1, 50).tolist()
    once = mean_difference(values, [str(index) for index in range(50)])
    four_times = mean_difference(
        [value for value in values for _ in range(4)], [str(i) for i in range(50) for _ in "abcd"]
    )
    alone = mean_difference([value for value in values for _ in range(4)], [str(index) for index in range(200)])
    # then
    assert (four_times.low, four_times.high) == pytest.approx((once.low, once.high))
    assert alone.high - alone.low < 0.6 * (once.high - once.low)


def test_the_same_rows_give_the_same_numbers() -> None:
    values, groups = [0.1, -0.3, 0.7, 0.2], ["a", "b", "c", "d"]
    assert mean_difference(values, groups) == mean_difference(values, groups)


def test_where_there_is_no_noise_or_one_group_nothing_is_made_up() -> None:
    same = mean_difference([0.5, 0.5], ["a", "b"])
    assert (same.low, same.high) == (0.5, 0.5)
    one = mean_difference([0.5, 0.7], ["a", "a"])
    assert (one.low, one.high) == (-np.inf, np.inf)
    assert not one.clear
    assert one.as_json() == {"mean": pytest.approx(0.6), "low": None, "high": None, "rows": 2}
