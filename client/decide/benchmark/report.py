"""A run as tables."""

from collections.abc import Sequence

from rich.table import Table

from decide.benchmark.figures import Measured
from decide.output import plain

_LEVELS = ("endpoint", "words", "tokens", "callers", "p50 ms", "p90 ms", "p99 ms", "model ms", "per s", "busy")
_SUMMARY = ("endpoint", "instance", "contract", "p50 ms", "p95 ms", "decisions/s", "cost per 1,000")


def levels_table(measured: Sequence[Measured]) -> Table:
    """A row for each number of callers and length of state."""
    table = _table(_LEVELS, left=1)
    for one in measured:
        for level in one.figures:
            table.add_row(
                plain(one.name),
                str(level.state_words),
                f"{level.input_tokens:.0f}",
                str(level.callers),
                _milliseconds(level.p50_seconds),
                _milliseconds(level.p90_seconds),
                _milliseconds(level.p99_seconds),
                _milliseconds(level.forward_p50_seconds),
                f"{level.decisions_per_second:.2f}",
                f"{level.busy_rate:.0%}",
            )
    return table


def summary_table(measured: Sequence[Measured]) -> Table:
    """A row for each endpoint: latency of the first level, and decisions a second of the fastest."""
    table = _table(_SUMMARY, left=3)
    for one in measured:
        if not one.figures:
            continue
        cost = one.cost_per_thousand()
        table.add_row(
            plain(one.name),
            plain(one.instance or "–"),
            "decision",
            _milliseconds(one.figures[0].p50_seconds),
            _milliseconds(one.figures[0].p95_seconds),
            f"{one.fastest().decisions_per_second:.2f}",
            "–" if cost is None else f"{cost:.4f}",
        )
    return table


def _table(columns: Sequence[str], left: int) -> Table:
    """An empty table, in which names are folded and numbers never cut."""
    table = Table(box=None, header_style="dim", padding=(0, 1))
    for number, column in enumerate(columns):
        name = number < left
        table.add_column(
            column, justify="left" if name else "right", no_wrap=not name, overflow="fold", min_width=len(column)
        )
    return table


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"
