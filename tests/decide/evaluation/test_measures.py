"""Measures, by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from decide.evaluation import measures
from decide.evaluation.measures import Share


def test_wilson_s_interval() -> None:
    # z = 1.95996: middle (0.8 + z²/20) / (1 + z²/10) = 0.71674, half z √(0.016 + z²/400) / (1 + z²/10) = 0.22658
    assert Share(8, 10).interval == pytest.approx((0.49016, 0.94332), abs=1e-5)
    assert Share(0, 10).interval == pytest.approx((0, 0.27753), abs=1e-5)  # z² / (10 + z²)


@pytest.mark.parametrize(("count", "of"), [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (499, 1000), (1, 100_000)])
def test_wilson_s_interval_is_scipy_s(count: int, of: int) -> None:
    theirs = stats.binomtest(count, of).proportion_ci(confidence_level=0.95, method="wilson")
    assert Share(count, of).interval == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_a_share_of_nothing_is_no_number() -> None:
    assert math.isnan(Share(0, 0).value)
    assert Share(0, 0).interval == (0, 1)


def test_log_loss_and_brier_of_one_answer() -> None:
    assert measures.log_loss((0.5, 0.5), 0) == pytest.approx(math.log(2))
    assert measures.log_loss((1.0, 0.0), 1) == pytest.approx(15 * math.log(10))
    assert measures.brier((0.7, 0.2, 0.1), 0) == pytest.approx(0.09 + 0.04 + 0.01)
    assert measures.brier((0.0, 1.0), 0) == 2


def test_reliability_and_the_calibration_error() -> None:
    # given two answers in (0.5, 0.6], one right; one in (0.8, 0.9], wrong; one at exactly 1, right
    bins = measures.reliability(np.array([0.52, 0.6, 0.9, 1.0]), np.array([True, False, False, True]))
    # then
    assert [(round(one.low, 1), one.accuracy) for one in bins] == [
        (0.5, Share(1, 2)),
        (0.8, Share(0, 1)),
        (0.9, Share(1, 1)),
    ]
    assert bins[0].mean_confidence == pytest.approx(0.56)
    # 2/4 · |0.5 - 0.56| + 1/4 · |0 - 0.9| + 1/4 · 0
    assert measures.expected_calibration_error(bins) == pytest.approx(0.03 + 0.225)
    assert math.isnan(measures.expected_calibration_error([]))


def test_the_coverage_curve_takes_equally_sure_answers_together() -> None:
    curve = measures.coverage_curve(np.array([0.6, 0.9, 0.6, 0.8]), np.array([True, True, False, False]), rows=5)
    assert [(point.threshold, point.accepted, point.correct) for point in curve] == [
        (0.9, Share(1, 5), Share(1, 1)),
        (0.8, Share(2, 5), Share(1, 2)),
        (0.6, Share(4, 5), Share(2, 4)),
    ]
    assert measures.coverage_curve(np.array([]), np.array([], dtype=bool), rows=0) == []


def test_a_threshold_is_one_whose_interval_reaches_the_accuracy() -> None:
    # given 40 right answers, then 10 wrong ones
    sure = np.linspace(0.99, 0.5, 50)
    curve = measures.coverage_curve(sure, np.arange(50) < 40, rows=50)
    # then 40 of 40 have the lower end 40 / (40 + z²) = 0.9124, and one more, wrong, has less than 0.9
    found = measures.threshold_for(curve, 0.9)
    assert found is not None
    assert found.accepted == Share(40, 50)
    assert measures.threshold_for(curve, 0.95) is None


def test_percentiles_are_interpolated() -> None:
    assert measures.percentile([1, 2, 3, 4], 50) == 2.5
    assert measures.percentile([0, 10], 95) == pytest.approx(9.5)
    assert math.isnan(measures.percentile([], 50))
