"""A run, or two side by side, as one HTML file that asks the network for nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from decide.evaluation import plots, summary, wording
from decide.evaluation.comparison import Comparison
from decide.evaluation.measures import threshold_for
from decide.evaluation.row import Row
from decide.evaluation.wording import Shown

WORST_ROWS = 12
MAX_NAMES = 24
"""Of a confusion matrix; with more nobody reads one."""


@dataclass(frozen=True)
class Confusion:
    """How often each name was answered where each is right; families with the same names share one."""

    families: str
    names: Sequence[str]
    columns: Sequence[str]
    counts: Sequence[Sequence[int]]


def render(shown: Sequence[Shown], comparison: Comparison | None = None) -> str:
    """The page about one run, or about two and their ``comparison``."""
    jinja = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (wording.percent, wording.part, wording.number, wording.duration, wording.interval)
    jinja.filters |= {one.__name__: one for one in filters}
    first = shown[0]
    return jinja.get_template("report.html").render(
        shown=shown,
        first=first,
        comparison=comparison,
        verdict=comparison and wording.verdict(comparison),
        plots=_plots(shown),
        families=wording.families(shown),
        thresholds=[summary.coverage_table(one.rows) for one in shown],
        targets=[
            [(accuracy, threshold_for(one.evaluation.curve, accuracy)) for accuracy in summary.SHOWN_ACCURACIES]
            for one in shown
        ],
        confusions=[confusions(one.rows) for one in shown],
        worst=summary.worst(first.rows, WORST_ROWS),
        failed=[row for row in first.rows if row.failure][:WORST_ROWS],
        identities=[wording.identity(one.run) for one in shown],
    )


def confusions(rows: Sequence[Row]) -> list[Confusion]:
    """A matrix for each set of names."""
    by_names: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        by_names.setdefault(tuple(sorted(row.names)), []).append(row)
    found = []
    for own in by_names.values():
        names, counts = summary.confusion(own)
        if len(names) <= MAX_NAMES:
            families = ", ".join(dict.fromkeys(row.family for row in own))
            missing = ["no answer"] if counts.shape[1] > len(names) else []
            found.append(Confusion(families, names, [*names, *missing], counts.tolist()))
    return found


def _plots(shown: Sequence[Shown]) -> Mapping[str, str]:
    """SVG by name; without those that nothing is known for."""
    answered = [one for one in shown if one.evaluation.bins]
    timed = [(one.name, one.seconds) for one in shown if one.seconds]
    found = {}
    if answered:
        found["reliability"] = plots.reliability([(one.name, one.evaluation.bins) for one in answered])
        found["coverage"] = plots.risk_coverage([(one.name, one.evaluation.curve) for one in answered])
    if timed:
        found["latency"] = plots.latency(timed)
    return found
