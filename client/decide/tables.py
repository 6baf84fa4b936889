"""Results as tables: an option a line, with its probability as a bar."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from decide.output import plain
from decision_client import Choice, Result

_BAR_WIDTH = 30


def result_table(
    result: Result, *, title: str = "", descriptions: Mapping[str, str] | None = None, choice: Choice | None = None
) -> RenderableType:
    """How one decision came out: bars, what they rest on, and what a policy makes of it."""
    table = Table(box=None, show_header=False, padding=(0, 1))
    for option_id, probability in zip(result.option_ids, result.probabilities, strict=True):
        chosen = "bold green" if option_id == result.choice else ""
        description = plain((descriptions or {}).get(option_id, ""), "dim")
        table.add_row(plain(option_id, chosen), f"{probability:6.1%}", bar(probability), description)
    lines: list[RenderableType] = [plain(title or result.id, "bold"), table, _basis(result)]
    if choice is not None:
        accepted = choice.rule == "accepted"
        style = "green" if accepted else "yellow"
        lines.append(plain(f"policy: {choice.option_id} ({choice.rule}: {choice.reason})", style))
    return Group(*lines)


def bar(probability: float) -> Text:
    """A bar as long as ``probability`` (0 to 1) says."""
    return Text(f"{'█' * round(probability * _BAR_WIDTH):<{_BAR_WIDTH}}", "cyan")


def _basis(result: Result) -> Text:
    """What the probabilities rest on."""
    parts = [
        f"margin {result.margin:.3f}",
        f"{result.allowed_token_mass:.1%} of the mass on the options",
        f"{result.input_tokens} tokens",
        f"{result.forward_seconds * 1000:.0f} ms in the model",
        result.probability_status,
    ]
    return plain(", ".join(parts), "dim")
