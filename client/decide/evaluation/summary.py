"""The table that is published of a run: for all rows, and for each family."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from decide.evaluation import measures
from decide.evaluation.measures import Bin, CurvePoint, Share
from decide.evaluation.row import Row
from decision_client import Policy, Result

SHOWN_THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SHOWN_ACCURACIES = (0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Summary:
    """What rows came to. Log loss, Brier and ECE are over the rows with an answer; accuracy is over all."""

    name: str
    valid: Share
    accuracy: Share
    log_loss: float
    brier: float
    ece: float
    p50_seconds: float
    p95_seconds: float
    option_mass: float
    """Median share of the next-token distribution that fell on the options."""
    flips: Share
    """Of the rows asked in another order, too."""
    accepted: Share
    """Of all rows, what the policy acts on."""
    accepted_correct: Share

    def as_json(self) -> dict[str, Any]:
        """For programs; None where there is no number."""
        numbers = {
            name: getattr(self, name)
            for name in ("log_loss", "brier", "ece", "p50_seconds", "p95_seconds", "option_mass")
        }
        shares = {name: getattr(self, name) for name in ("valid", "accuracy", "flips", "accepted", "accepted_correct")}
        return {
            "name": self.name,
            **{name: None if math.isnan(number) else number for name, number in numbers.items()},
            **{name: share_as_json(share) for name, share in shares.items()},
        }


@dataclass(frozen=True)
class Evaluation:
    """Everything that is shown of a run's rows."""

    overall: Summary
    families: tuple[Summary, ...]
    first_seconds: tuple[float, ...]
    """Of the first request of each session."""
    bins: tuple[Bin, ...]
    curve: tuple[CurvePoint, ...]
    policy: Policy

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "overall": self.overall.as_json(),
            "families": [family.as_json() for family in self.families],
            "first_seconds": list(self.first_seconds),
            "policy": {name: getattr(self.policy, name) for name in THRESHOLDS},
        }


THRESHOLDS = ("min_probability", "min_margin", "min_option_mass")


def evaluate(rows: Sequence[Row], policy: Policy) -> Evaluation:
    """What ``rows`` come to, when ``policy`` says which answers are acted on."""
    names = list(dict.fromkeys(row.family for row in rows))
    confidences, correct = sureness(rows)
    return Evaluation(
        overall=summarise("all", rows, policy),
        families=tuple(summarise(name, [row for row in rows if row.family == name], policy) for name in names),
        first_seconds=tuple(row.seconds for row in rows if row.first),
        bins=tuple(measures.reliability(confidences, correct)),
        curve=tuple(measures.coverage_curve(confidences, correct, len(rows))),
        policy=policy,
    )


def summarise(name: str, rows: Sequence[Row], policy: Policy) -> Summary:
    """What ``rows`` come to together."""
    answered = [(row, row.answer) for row in rows if row.answer]
    confidences, correct = sureness(rows)
    accepted = [row for row in rows if accepts(policy, row)]
    seconds = [row.seconds for row, _ in answered if not row.first]
    reordered = [row for row in rows if row.reordered]
    return Summary(
        name=name,
        valid=Share(len(answered), len(rows)),
        accuracy=Share(sum(row.correct for row in rows), len(rows)),
        log_loss=_mean([measures.log_loss(answer.probabilities, row.place) for row, answer in answered]),
        brier=_mean([measures.brier(answer.probabilities, row.place) for row, answer in answered]),
        ece=measures.expected_calibration_error(measures.reliability(confidences, correct)),
        p50_seconds=measures.percentile(seconds, 50),
        p95_seconds=measures.percentile(seconds, 95),
        option_mass=measures.percentile([answer.option_mass for _, answer in answered], 50),
        flips=Share(sum(row.flipped for row in reordered), len(reordered)),
        accepted=Share(len(accepted), len(rows)),
        accepted_correct=Share(sum(row.correct for row in accepted), len(accepted)),
    )


def sureness(rows: Sequence[Row]) -> tuple[measures.Floats, Any]:
    """Of each row with an answer: the probability of its choice, and whether that is right."""
    answered = [(row, row.answer) for row in rows if row.answer]
    return (
        np.array([max(answer.probabilities) for _, answer in answered], dtype=np.float64),
        np.array([row.correct for row, _ in answered], dtype=np.bool_),
    )


def accepts(policy: Policy, row: Row) -> bool:
    """Whether ``policy`` acts on the answer of ``row``."""
    if row.answer is None:
        return False
    result = Result.model_construct(
        option_ids=row.names, probabilities=row.answer.probabilities, allowed_token_mass=row.answer.option_mass
    )
    return policy.choose(result).rule == "accepted"


def coverage_table(rows: Sequence[Row]) -> list[CurvePoint]:
    """What thresholds that are easy to remember come to."""
    confidences, correct = sureness(rows)
    return [
        CurvePoint(
            threshold,
            Share(int(sure.sum()), len(rows)),
            Share(int(correct[sure].sum()), int(sure.sum())),
        )
        for threshold in SHOWN_THRESHOLDS
        for sure in [confidences >= threshold]
    ]


def worst(rows: Sequence[Row], count: int) -> list[Row]:
    """The wrong answers that were surest, surest first."""
    wrong = [row for row in rows if row.answer and not row.correct]
    return sorted(wrong, key=lambda row: -max(row.answer.probabilities if row.answer else (0.0,)))[:count]


def confusion(rows: Sequence[Row]) -> tuple[list[str], Any]:
    """The names, and how often each was answered (columns) where each is right (rows).

    An answer that is missing is counted in a column of its own, the last, when there are any.
    """
    names = list(dict.fromkeys(name for row in rows for name in row.names))
    counts = np.zeros((len(names), len(names) + any(row.answer is None for row in rows)), dtype=int)
    for row in rows:
        counts[names.index(row.label), names.index(row.choice) if row.choice is not None else -1] += 1
    return names, counts


def share_as_json(share: Share) -> dict[str, Any]:
    """The numbers of ``share``; None where there is nothing to share."""
    if not share.of:
        return {"count": 0, "of": 0, "value": None, "low": None, "high": None}
    low, high = share.interval
    return {"count": share.count, "of": share.of, "value": share.value, "low": low, "high": high}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan
