"""What a run comes to, in the words and numbers that the terminal and the report share."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decide.evaluation.comparison import Comparison
from decide.evaluation.measures import Share
from decide.evaluation.row import Row
from decide.evaluation.saved_run import SavedRun
from decide.evaluation.summary import Evaluation


@dataclass(frozen=True)
class Shown:
    """A run with what it comes to."""

    name: str
    run: SavedRun
    evaluation: Evaluation

    @property
    def rows(self) -> Sequence[Row]:
        """The run's."""
        return self.run.rows

    @property
    def seconds(self) -> list[float]:
        """Of the requests with an answer, without the first of each session."""
        return [row.seconds for row in self.run.rows if row.answer and not row.first]


def verdict(comparison: Comparison) -> str:
    """What the comparison says, in two sentences."""
    difference = comparison.accuracy
    if comparison.p_value < 0.05:
        better = "A" if comparison.only_a > comparison.only_b else "B"
        accuracy = (
            f"{better} is right more often, and by more than chance explains (McNemar p = {comparison.p_value:.2g})."
        )
    else:
        accuracy = (
            f"Which of the two is right more often, these {comparison.rows} rows cannot tell "
            f"(A − B = {difference.mean:+.1%}, McNemar p = {comparison.p_value:.2g})."
        )
    loss = comparison.log_loss
    if loss is None:
        return accuracy
    if not loss.clear:
        return f"{accuracy} Nor does the log loss (A − B = {loss.mean:+.3f}, 95% {loss.low:+.3f} to {loss.high:+.3f})."
    better = "A" if loss.mean < 0 else "B"
    return (
        f"{accuracy} {better}'s probabilities are better: its log loss is lower by {abs(loss.mean):.3f} "
        f"(A − B 95% {loss.low:+.3f} to {loss.high:+.3f})."
    )


def families(shown: Sequence[Shown]) -> list[dict[str, Any]]:
    """Each family with its summary in every run that has it, in the order of the first; all rows come last."""
    names = dict.fromkeys(family.name for one in shown for family in one.evaluation.families)
    lines = []
    for name in names:
        cells = [next((family for family in one.evaluation.families if family.name == name), None) for one in shown]
        lines.append({"name": name, "cells": cells})
    return [*lines, {"name": "all", "cells": [one.evaluation.overall for one in shown]}]


def identity(run: SavedRun) -> Mapping[str, str]:
    """What produced a run, for people."""
    header, model = run.header, run.model
    lines = {
        "labels": f"{header.labels.name}, {header.labels.decisions} decisions, SHA-256 {header.labels.sha256[:16]}…",
        "rows": f"{len(run.rows)}"
        + ("" if run.complete else f" of {header.labels.decisions}: the run is not complete"),
        "endpoint": header.endpoint,
        "started": header.started,
    }
    if model is None:
        return {**lines, "model": "no answer named one"}
    gguf, library = model.gguf, model.llama_cpp
    told = {
        "model": gguf and f"{gguf.file}, {gguf.bytes:,} bytes, SHA-256 {gguf.sha256}",
        "repository": gguf and gguf.repo and f"{gguf.repo} @ {gguf.revision}",
        "prompt": model.prompt_profile,
        "calibration": model.calibration or "none: probabilities are uncalibrated",
        "llama.cpp": library and f"{library.build}, binding {library.binding_version}",
        "backends": ", ".join(model.backends) + f"; GPU layers {model.gpu_layers}, threads {model.threads}",
    }
    return lines | {name: value for name, value in told.items() if value}


def percent(share: Share) -> str:
    """The share in per cent."""
    return f"{share.value:.1%}" if share.of else "–"


def part(value: float) -> str:
    """A number from 0 to 1 in per cent; a dash for none."""
    return f"{value:.1%}" if not math.isnan(value) else "–"


def interval(share: Share) -> str:
    """Its 95% interval."""
    low, high = share.interval
    return f"{low:.1%} – {high:.1%}" if share.of else "–"


def number(value: float) -> str:
    """With three digits behind the point; a dash for none."""
    return f"{value:.3f}" if not math.isnan(value) else "–"


def duration(seconds: float) -> str:
    """As people say it; a dash for none."""
    if math.isnan(seconds):
        return "–"
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 99.95 else f"{seconds:.0f} s"
