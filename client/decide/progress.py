"""How far a long run is: a bar with its rate and the time left, on stderr and for people only."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from decide.output import messages


class RateColumn(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """As in ``3.2/s``; nothing while it is not known."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f}/s", "dim")


def progress() -> Progress:
    """A bar, as a context manager; it shows nothing where stderr is no terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=messages,
        disable=not messages.is_terminal,
    )
