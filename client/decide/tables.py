"""Outcomes as tables: an option a line, with its probability as a bar."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from decide.answers import Outcome
from decide.output import plain
from decision_client import Choice

_BAR_WIDTH = 30


def outcome_table(outcome: Outcome, choice: Choice | None = None) -> RenderableType:
    """How one question came out: bars, what they rest on, and the ``choice`` that a policy makes of it."""
    table = Table(box=None, show_header=False, padding=(0, 1))
    most = max(row.probability for row in outcome.rows)
    for row in outcome.rows:
        style = "bold green" if row.probability == most else ""
        cells = plain(row.label, style), f"{row.probability:6.1%}", bar(row.probability), plain(row.description, "dim")
        table.add_row(*cells)
    lines: list[RenderableType] = [plain(outcome.title, "bold"), table, plain(", ".join(outcome.basis), "dim")]
    if choice is not None:
        style = "green" if choice.rule == "accepted" else "yellow"
        lines.append(plain(f"policy: {choice.option_id} ({choice.rule}: {choice.reason})", style))
    return Group(*lines)


def bar(probability: float) -> Text:
    """A bar as long as ``probability`` (0 to 1) says."""
    return Text(f"{'█' * round(probability * _BAR_WIDTH):<{_BAR_WIDTH}}", "cyan")


def facts() -> Table:
    """An empty table of names and values; a value is never cut."""
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table
