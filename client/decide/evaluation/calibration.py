"""Fits a calibration on labelled decisions, and says by how much it helps on decisions that it has not seen.

Every number called out-of-fold is of a row whose temperature was fitted without it: rows are dealt into `FOLDS` folds,
each type and number of options evenly, variants of one case together, and each fold is scored with the temperatures of
the others. Four ways are tried, the simplest first; a finer one is taken only where the out-of-fold log loss is lower
than that of the one taken before, by more than the noise: the 95% interval of the paired difference is above 0.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from decide.evaluation.comparison import SEED, Difference, mean_difference
from decide.evaluation.errors import CalibrationError
from decide.evaluation.evidence import Evidence
from decide.evaluation.measures import Bin, Floats, expected_calibration_error, reliability
from decide.evaluation.temperature import at_an_end, fit

FOLDS = 5
LEAST_ROWS = 50
"""With an answer, for a calibration at all, and for a temperature of a type's or an option count's own."""
LEAST_GROUPS = 20
"""Groups are what is held out and drawn again."""

K = TypeVar("K", str, int)


@dataclass(frozen=True)
class Temperatures:
    """What the options' logits are divided by; the endpoint chooses as `of` does."""

    overall: float
    by_type: Mapping[str, float] = field(default_factory=dict)
    by_option_count: Mapping[int, float] = field(default_factory=dict)

    def of(self, kind: str, option_count: int) -> float:
        """That of a decision: its type's, else its option count's, else the overall one."""
        return self.by_type.get(kind, self.by_option_count.get(option_count, self.overall))

    def of_rows(self, evidence: Evidence) -> Floats:
        """One for each row."""
        pairs = zip(evidence.types, evidence.counts, strict=True)
        return np.array([self.of(kind, count) for kind, count in pairs])


@dataclass(frozen=True)
class Quality:
    """How good probabilities are."""

    log_loss: float
    brier: float
    ece: float
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Tried:
    """A way to fit, and what it comes to out-of-fold."""

    name: str
    log_loss: float
    gain: Difference
    """The log loss of the best way before it, less its own."""
    taken: bool


@dataclass(frozen=True)
class Fitted:
    """A calibration that helps."""

    temperatures: Temperatures
    way: str
    before: Quality
    """Of the probabilities as they are served now."""
    after: Quality
    """Out-of-fold."""
    gain: Difference
    """Log loss before less after, out-of-fold."""
    tried: tuple[Tried, ...]


Way = Callable[[Evidence, Evidence], Temperatures]
"""Fits on some rows; which types and counts have enough is read from all, so that every fold fits the same ones."""


def calibrate(evidence: Evidence) -> Fitted:
    """The calibration that ``evidence`` supports.

    Raises:
        CalibrationError: there is too little, or no way helps by more than the noise; says the numbers.
    """
    _check(evidence)
    folds = deal(evidence)
    best, taken, tried = evidence.served, "as served", list[Tried]()
    for name, way in WAYS.items():
        if tried and not _finer(way(evidence, evidence), name, evidence):
            continue
        held_out = _held_out(evidence, folds, way)
        losses = evidence.logits.losses(held_out)
        gain = mean_difference((evidence.logits.losses(best) - losses).tolist(), evidence.groups)
        tried.append(Tried(name, float(losses.mean()), gain, taken=gain.low > 0))
        if gain.low > 0:
            best, taken = held_out, name
    if taken == "as served":
        raise CalibrationError(_no_help(evidence, tried))
    before, after = evidence.logits.losses(evidence.served), evidence.logits.losses(best)
    return Fitted(
        temperatures=WAYS[taken](evidence, evidence),
        way=taken,
        before=quality(evidence, evidence.served),
        after=quality(evidence, best),
        gain=mean_difference((before - after).tolist(), evidence.groups),
        tried=tuple(tried),
    )


def _check(evidence: Evidence) -> None:
    """Refuse what no temperature can be fitted on."""
    if len(evidence) < LEAST_ROWS:
        raise CalibrationError(
            f"{len(evidence)} rows with an answer, at least {LEAST_ROWS} are needed to fit a temperature; label more"
        )
    groups = len(set(evidence.groups))
    if groups < LEAST_GROUPS:
        raise CalibrationError(
            f"the rows are of {groups} groups, at least {LEAST_GROUPS} are needed: variants of few cases say little "
            "about others; label more cases"
        )
    if at_an_end(fit(evidence.logits)):
        hits = int((evidence.logits.values.argmax(axis=1) == evidence.logits.places).sum())
        raise CalibrationError(
            f"the labels are the likelier the further the temperature goes (right: {hits} of {len(evidence)}), so "
            "there is none to be fitted. Label harder decisions, or look whether the labels belong to these options"
        )


def quality(evidence: Evidence, temperatures: Floats) -> Quality:
    """How good the probabilities are at ``temperatures``, one a row."""
    probabilities = evidence.logits.probabilities(temperatures)
    rows, places = np.arange(len(evidence)), evidence.logits.places
    of_label = np.zeros_like(probabilities)
    of_label[rows, places] = 1
    bins = reliability(probabilities.max(axis=1), probabilities.argmax(axis=1) == places)
    return Quality(
        log_loss=float(evidence.logits.losses(temperatures).mean()),
        brier=float(((probabilities - of_label) ** 2).sum(axis=1).mean()),
        ece=expected_calibration_error(bins),
        bins=tuple(bins),
    )


def deal(evidence: Evidence) -> list[int]:
    """The fold of each row: groups in a drawn order, those of one type and number of options dealt in turn."""
    first_row = {group: row for row, group in reversed(list(enumerate(evidence.groups)))}
    groups = sorted(first_row)
    random.Random(SEED).shuffle(groups)
    groups.sort(key=lambda group: (evidence.types[first_row[group]], evidence.counts[first_row[group]]))
    fold_of = {group: place % FOLDS for place, group in enumerate(groups)}
    return [fold_of[group] for group in evidence.groups]


def _held_out(evidence: Evidence, folds: Sequence[int], way: Way) -> Floats:
    """The temperature of each row, fitted without the row's fold."""
    temperatures = np.ones(len(evidence))
    fold_of = np.array(folds)
    for fold in sorted(set(folds)):
        inside = fold_of == fold
        temperatures[inside] = way(evidence[~inside], evidence).of_rows(evidence[inside])
    return temperatures


def _finer(temperatures: Temperatures, way: str, evidence: Evidence) -> bool:
    """Whether a way can differ from those before it: it tells rows apart, and some have enough others like them."""
    if way == BY_COUNT:
        counts = {count for count, kind in zip(evidence.counts, evidence.types, strict=True) if kind == "choice"}
        return len(counts) > 1 and bool(temperatures.by_option_count)
    return len(set(evidence.types)) > 1 and bool(temperatures.by_type)


def _overall(rows: Evidence, _: Evidence) -> Temperatures:
    return Temperatures(fit(rows.logits))


def _by_type(rows: Evidence, all_rows: Evidence) -> Temperatures:
    return Temperatures(fit(rows.logits), by_type=_own(rows, rows.types, _enough(all_rows.types)))


def _by_type_and_count(rows: Evidence, all_rows: Evidence) -> Temperatures:
    """Choices by their number of options. The others keep a temperature by type, so that no count's reaches them."""
    overall = fit(rows.logits)
    own = _own(rows, rows.types, _enough(all_rows.types))
    choices = np.array([kind == "choice" for kind in rows.types])
    enough = _enough([count for count, kind in zip(all_rows.counts, all_rows.types, strict=True) if kind == "choice"])
    of_choices = rows[choices] if choices.any() else rows
    return Temperatures(
        own.get("choice", overall),
        by_type={kind: own.get(kind, overall) for kind in ("noul", "score")},
        by_option_count=_own(of_choices, of_choices.counts, enough) if choices.any() else {},
    )


BY_COUNT = "choices by their number of options"

WAYS: Mapping[str, Way] = {
    "one temperature": _overall,
    "a temperature for each type": _by_type,
    BY_COUNT: _by_type_and_count,
}


def _enough(keys: Sequence[K]) -> set[K]:
    return {key for key, count in Counter(keys).items() if count >= LEAST_ROWS}


def _own(rows: Evidence, keys: Sequence[K], enough: set[K]) -> dict[K, float]:
    """A temperature for each key that has ``enough`` rows and a minimum."""
    found = {key: fit(rows[np.array([own == key for own in keys])].logits) for key in sorted(set(keys) & enough)}
    return {key: temperature for key, temperature in found.items() if not at_an_end(temperature)}


def _no_help(evidence: Evidence, tried: Sequence[Tried]) -> str:
    served = float(evidence.logits.losses(evidence.served).mean())
    ways = "; ".join(
        f"{one.name}: {one.log_loss:.4f}, lower by {one.gain.mean:.4f} (95% interval {one.gain.low:.4f} to "
        f"{one.gain.high:.4f})"
        for one in tried
    )
    return (
        f"no temperature helps by more than the noise, so no file was written. Log loss as served {served:.4f}; "
        f"out-of-fold, {ways}. {len(evidence)} rows: keep the probabilities as they are, or label more"
    )
