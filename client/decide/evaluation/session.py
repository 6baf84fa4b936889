"""What both commands do first: labels or a saved run in, a run with all its rows out."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from decide import output
from decide.errors import InputError, UsageError
from decide.evaluation import labelled
from decide.evaluation.asking import ask
from decide.evaluation.errors import LabelsError
from decide.evaluation.labelled import LabelledFile
from decide.evaluation.row import Row
from decide.evaluation.run_file import RunFile
from decide.evaluation.saved_run import Header, Labels, SavedRun, is_run, load
from decide.files import STANDARD_INPUT
from decide.options import patient
from decide.target import Target

SHOWN_PROBLEMS = 100
"""Of a labels file; one with a wrong layout has a problem on each line."""


@dataclass(frozen=True)
class Asking:
    """How labelled decisions are asked."""

    order_flips: bool
    wait_seconds: float
    """How long a busy endpoint is asked again before the run ends where it is."""


def run_of(file: Path, target: Target | None, save: Path | None, asking: Asking) -> SavedRun:
    """The run in ``file``; if that holds labelled decisions, the run of ``target`` over them, asked or continued.

    Raises:
        InputError: the file is neither, or a run that is to be continued is another one.
        UsageError: decisions have to be asked, and no endpoint was named.
        EndpointError, DecideError: the endpoint cannot be asked; what is saved stays.
    """
    if file == STANDARD_INPUT:
        raise UsageError("labelled decisions and runs are read from a file, so that a stopped run can go on: name one")
    if is_run(file):
        output.messages.print(output.plain(f"{file} is a saved run; nothing is asked", "dim"))
        return load(file)
    labels = read_labels(file)
    if target is None:
        raise UsageError("say which endpoint to ask: --env NAME, --endpoint NAME or --url URL, or name a saved run")
    return asked(labels, target, save or default_path(file, target), asking)


def read_labels(file: Path) -> LabelledFile:
    """The labelled decisions in ``file``; all that is wrong with it is told line by line.

    Raises:
        LabelsError: something is.
    """
    try:
        return labelled.read(file)
    except LabelsError as error:
        several = error.problems if len(error.problems) > 1 else ()  # the error itself tells the first
        for problem in several[:SHOWN_PROBLEMS]:
            output.messages.print(output.plain(str(problem)), soft_wrap=True)
        if len(several) > SHOWN_PROBLEMS:
            output.messages.print(f"and {len(several) - SHOWN_PROBLEMS} more")
        raise


def asked(labels: LabelledFile, target: Target, save: Path, asking: Asking) -> SavedRun:
    """The run of ``target`` over ``labels``, in ``save``: rows that are there are not asked again."""
    header = Header(
        labels=Labels.of(labels),
        endpoint=str(target),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        order_flips=asking.order_flips,
    )
    try:
        _ask(labels, target, RunFile(save, header), asking)
    except OSError as error:
        raise InputError(f"{save}: cannot be written: {error.strerror or error}") from error
    output.messages.print(output.plain(f"saved in {save}", "dim"))
    return load(save)


def _ask(labels: LabelledFile, target: Target, run: RunFile, asking: Asking) -> None:
    """Ask what ``run`` has no row of, and close it."""
    with run:
        todo = len(labels.decisions) - len(run.done)
        if run.done:
            output.messages.print(output.plain(f"{run.path} has {len(run.done)} rows; {todo} are left to ask", "dim"))
        if todo:
            client = target.client(patient(asking.wait_seconds))
            try:
                with _progress(f"{target}", todo) as on_row:
                    ask(client, labels.decisions, run, order_flips=asking.order_flips, on_row=on_row)
            except KeyboardInterrupt:
                output.warn(f"stopped; what was answered is in {run.path}, and the same command goes on from there")
                raise
            finally:
                client.close()


def default_path(labels: Path, target: Target) -> Path:
    """Where a run is saved when nobody says: in this folder, named by the labels and what was asked."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", re.sub(r"^https?://", "", str(target))).strip("-")
    return Path(f"{labels.stem}.{slug}.run.jsonl")


class _Rate(ProgressColumn):
    """Decisions a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.3g}/s" if task.speed else "", "dim")


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[Row], None]]:
    """A bar with the rate, the time left and how many were right, on stderr, for the block; gives what to tell rows."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    bar = Progress(
        *columns,
        TextColumn("{task.fields[right]}"),
        console=output.messages,
        transient=True,
        disable=not output.messages.is_terminal,  # elsewhere it would leave an empty line
    )
    task = bar.add_task(escape(output.visible(what)), total=total, right="")
    correct: list[bool] = []

    def tell(row: Row) -> None:
        correct.append(row.correct)
        bar.update(task, advance=1, right=f"{sum(correct) / len(correct):.0%} right")

    with bar:
        yield tell
