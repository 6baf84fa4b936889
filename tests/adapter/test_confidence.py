"""Confidences by hand."""

import pytest

from decision_adapter.confidence import choice_confidence, score_confidence


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ([0.7, 0.2, 0.1], 0.55),  # (3 x 0.7 - 1) / 2
        ([0.25, 0.75], 0.5),  # (2 x 0.75 - 1) / 1
        ([1.0, 0.0, 0.0], 1.0),
        ([0.25, 0.25, 0.25, 0.25], 0.0),
    ],
)
def test_a_choice_is_as_sure_as_its_likeliest_option(probabilities: list[float], expected: float) -> None:
    assert choice_confidence(probabilities) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ([0.1, 0.3, 0.6], 0.25),  # D = 2/3, 1 - (0.1 x 2 + 0.3 x 1) / D
        ([0.3, 0.7], 0.4),  # D = 1/2, 1 - 0.3 / D
        ([0.0, 0.0, 1.0], 1.0),
        ([0.4, 0.2, 0.4], 0.0),  # 1 - (0.2 x 1 + 0.4 x 2) / D is below 0
    ],
)
def test_a_score_is_as_sure_as_its_levels_are_close_together(probabilities: list[float], expected: float) -> None:
    assert score_confidence(probabilities) == pytest.approx(expected)
