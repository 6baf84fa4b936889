"""Two runs over the same decisions: which is better, and whether that is more than chance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from decide.evaluation import measures
from decide.evaluation.errors import ComparisonError
from decide.evaluation.row import Row

RESAMPLES = 5000
SEED = 20260101
"""Of every draw, so that the same rows always give the same numbers."""


@dataclass(frozen=True)
class Difference:
    """A mean over paired rows, with its 95% interval when groups of rows are drawn again (percentile bootstrap)."""

    mean: float
    low: float
    high: float
    rows: int

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def as_json(self) -> dict[str, float | None]:
        """For programs; None where there is no interval."""
        return {name: value if math.isfinite(value) else None for name, value in vars(self).items()}


@dataclass(frozen=True)
class Comparison:
    """Run A beside run B, over the rows that both have."""

    rows: int
    both: int
    only_a: int
    """Rows that A has right and B wrong."""
    only_b: int
    neither: int
    p_value: float
    """McNemar's exact test: how likely so uneven a split of the rows that only one has right is by chance."""
    accuracy: Difference
    """A's accuracy less B's."""
    log_loss: Difference | None
    """A's log loss less B's, over the rows that both answered; None without any."""
    other_choice: int
    """Rows in which the two chose differently."""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **{name: getattr(self, name) for name in ("rows", "both", "only_a", "only_b", "neither", "other_choice")},
            "mcnemar_p": self.p_value,
            "accuracy_difference": self.accuracy.as_json(),
            "log_loss_difference": self.log_loss.as_json() if self.log_loss else None,
        }


def compare(a: Sequence[Row], b: Sequence[Row]) -> Comparison:
    """``a`` beside ``b``, by the ids of their rows.

    Raises:
        ComparisonError: they have no row in common, or rows with one id and another label.
    """
    others = {row.id: row for row in b}
    pairs = [(row, others[row.id]) for row in a if row.id in others]
    if not pairs:
        raise ComparisonError("the two runs have no row in common; compare runs over the same labelled decisions")
    for one, other in pairs:
        if (one.names, one.label) != (other.names, other.label):
            raise ComparisonError(f"row {one.id!r} has another label or other options in the other run")
    only_a = sum(one.correct and not other.correct for one, other in pairs)
    only_b = sum(other.correct and not one.correct for one, other in pairs)
    both = sum(one.correct and other.correct for one, other in pairs)
    answered = [(one, one.answer, other.answer) for one, other in pairs if one.answer and other.answer]
    losses = [
        measures.log_loss(mine.probabilities, row.place) - measures.log_loss(theirs.probabilities, row.place)
        for row, mine, theirs in answered
    ]
    return Comparison(
        rows=len(pairs),
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=len(pairs) - both - only_a - only_b,
        p_value=mcnemar(only_a, only_b),
        accuracy=mean_difference(
            [float(one.correct) - float(other.correct) for one, other in pairs], [one.group for one, _ in pairs]
        ),
        log_loss=mean_difference(losses, [row.group for row, *_ in answered]) if losses else None,
        other_choice=sum(one.choice != other.choice for one, other in pairs),
    )


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided: a coin thrown for each row that only one has right; 1 when there is none."""
    if not only_a + only_b:
        return 1.0
    from scipy import stats  # noqa: PLC0415  # a second of importing, which a run alone does not need

    return float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)


def mean_difference(differences: Sequence[float], groups: Sequence[str]) -> Difference:
    """The mean of ``differences``. Rows of one group are drawn together; with one group there is no interval."""
    places = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    of_row = np.array([places[group] for group in groups])
    sums = np.bincount(of_row, weights=np.asarray(differences, dtype=np.float64))
    counts = np.bincount(of_row).astype(np.float64)
    mean = float(np.mean(differences))
    if len(places) < 2:
        return Difference(mean, -np.inf, np.inf, len(differences))
    if not np.ptp(sums) and not np.ptp(counts):  # every draw would be the same, which scipy warns of
        return Difference(mean, mean, mean, len(differences))
    from scipy import stats  # noqa: PLC0415  # as in mcnemar

    found = stats.bootstrap(
        (sums, counts),
        lambda total, count, axis: total.sum(axis=axis) / count.sum(axis=axis),
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // len(places)),
        vectorized=True,
        paired=True,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Difference(mean, float(found.low), float(found.high), len(differences))
