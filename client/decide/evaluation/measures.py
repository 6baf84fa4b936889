"""What a model's answers are worth: each measure by its usual definition, stated where it is computed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 10
LEAST_PROBABILITY = 1e-15
"""What a label's probability counts as at least, so that one 0 does not make the log loss infinite."""

_Z = 1.959963984540054
"""97.5% of the normal distribution lie below it."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    """How many of how many, with the 95% interval of Wilson."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share; NaN of nothing."""
        return self.count / self.of if self.of else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, at 95%; 0 to 1 of nothing."""
        if not self.of:
            return 0.0, 1.0
        share, weight = self.count / self.of, _Z**2 / self.of
        middle = share + weight / 2
        half = _Z * math.sqrt(share * (1 - share) / self.of + weight / self.of / 4)
        return max(0.0, (middle - half) / (1 + weight)), min(1.0, (middle + half) / (1 + weight))


@dataclass(frozen=True)
class Bin:
    """Answers that were about equally sure."""

    low: float
    high: float
    mean_confidence: float
    accuracy: Share


def log_loss(probabilities: Sequence[float], place: int) -> float:
    """-ln of the probability of the label, which stands at ``place``."""
    return -math.log(max(probabilities[place], LEAST_PROBABILITY))


def brier(probabilities: Sequence[float], place: int) -> float:
    """Σ (p(i) - y(i))² over the options, y being 1 at ``place`` and else 0: from 0 to 2."""
    return sum((probability - (index == place)) ** 2 for index, probability in enumerate(probabilities))


def reliability(confidences: Floats, correct: NDArray[np.bool_]) -> list[Bin]:
    """The bins of equal width that have answers, by the probability of the choice. A bin holds its upper edge."""
    edges = np.linspace(0, 1, BINS + 1)
    bins = np.clip(np.digitize(confidences, edges, right=True) - 1, 0, BINS - 1)
    return [
        Bin(
            low=float(edges[index]),
            high=float(edges[index + 1]),
            mean_confidence=float(confidences[inside].mean()),
            accuracy=Share(int(correct[inside].sum()), int(inside.sum())),
        )
        for index in range(BINS)
        if (inside := bins == index).any()
    ]


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """Σ n(b)/n · |accuracy(b) - mean confidence(b)|; NaN without an answer."""
    total = sum(one.accuracy.of for one in bins)
    if not total:
        return math.nan
    return sum(one.accuracy.of / total * abs(one.accuracy.value - one.mean_confidence) for one in bins)


@dataclass(frozen=True)
class CurvePoint:
    """What acting on answers that are at least so sure comes to."""

    threshold: float
    accepted: Share
    """Of all rows, those without an answer included."""
    correct: Share
    """Of the accepted ones."""


def coverage_curve(confidences: Floats, correct: NDArray[np.bool_], rows: int) -> list[CurvePoint]:
    """A point for each confidence that occurs, from the surest down; answers that are equally sure come together."""
    order = np.argsort(-confidences, kind="stable")
    sure, right = confidences[order], np.cumsum(correct[order])
    last = np.flatnonzero(np.append(sure[1:] != sure[:-1], True)) if len(sure) else np.array([], dtype=int)
    return [
        CurvePoint(float(sure[end]), Share(int(end) + 1, rows), Share(int(right[end]), int(end) + 1)) for end in last
    ]


def threshold_for(curve: Sequence[CurvePoint], accuracy: float) -> CurvePoint | None:
    """The point that accepts most among those whose accuracy is ``accuracy`` even at the lower end of its interval."""
    good = [point for point in curve if point.correct.interval[0] >= accuracy]
    return max(good, key=lambda point: point.accepted.count, default=None)


def percentile(values: Sequence[float], percent: float) -> float:
    """By linear interpolation; NaN of nothing."""
    return float(np.percentile(values, percent)) if values else math.nan
