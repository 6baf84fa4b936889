"""Confidence, by hand."""

import pytest

from decision_adapter.confidence import choice_confidence, score_confidence


@pytest.mark.parametrize(
    ("probabilities", "confidence"),
    [
        ([1.0, 0.0], 1.0),
        ([0.5, 0.5], 0.0),
        ([0.8, 0.2], 0.6),  # (2 · 0.8 - 1) / 1
        ([0.7, 0.2, 0.1], 0.55),  # (3 · 0.7 - 1) / 2
        ([0.1, 0.1, 0.4, 0.4], 0.2),  # (4 · 0.4 - 1) / 3
    ],
)
def test_of_a_choice_only_the_likeliest_counts(probabilities: list[float], confidence: float) -> None:
    assert choice_confidence(probabilities) == pytest.approx(confidence)


@pytest.mark.parametrize(
    ("probabilities", "confidence"),
    [
        ([0.0, 0.0, 1.0], 1.0),
        ([0.8, 0.2], 0.6),  # k 0, D 1/2: 1 - 0.2 · 1 / 0.5
        ([0.0, 0.7, 0.3], 0.55),  # k 1, D (1 + 0 + 1) / 3: 1 - 0.3 · 1 / (2/3)
        ([0.7, 0.0, 0.3], 0.1),  # k 0, D 2/3: 1 - 0.3 · 2 / (2/3)
        ([0.1, 0.6, 0.2, 0.1], 0.5),  # k 1, D (1.5 + 0.5 + 0.5 + 1.5) / 4 = 1: 1 - (0.1 + 0.2 + 0.1 · 2)
        ([0.5, 0.0, 0.5], 0.0),  # k 0: 1 - 0.5 · 2 / (2/3) is below 0
        ([0.25, 0.25, 0.25, 0.25], 0.0),  # k 0: 1 - 0.25 · (1 + 2 + 3) / 1 is below 0
    ],
)
def test_of_a_score_the_distance_from_the_likeliest_level_counts(probabilities: list[float], confidence: float) -> None:
    assert score_confidence(probabilities) == pytest.approx(confidence)


@pytest.mark.parametrize("count", [2, 3, 10, 255])
def test_a_flat_distribution_has_none_whatever_floats_make_of_it(count: int) -> None:
    assert choice_confidence([1 / count] * count) == pytest.approx(0, abs=1e-12)
    assert choice_confidence([1 / count] * count) >= 0
    assert score_confidence([1 / count] * count) == pytest.approx(0, abs=1e-12)
