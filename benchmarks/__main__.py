"""The command line: `python -m benchmarks --model FILE.gguf [ROW…]`, which is what `make bench` runs."""

import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import report as paper
from benchmarks import rows, scaling
from benchmarks.errors import BenchmarkError
from benchmarks.llama_server import llama_server
from benchmarks.measure import Comparison
from benchmarks.report import Machine, Report
from benchmarks.rows import Row
from benchmarks.sides import EngineSide, ReferenceSide, Remote
from benchmarks.workloads import FULL, QUICK, Scale
from decision_adapter.errors import StartError
from decision_adapter.settings import Settings

RESULTS = Path(__file__).parent / "results"
SCALING = "scaling"
CHOICES = [*rows.NAMES, SCALING]

app = typer.Typer(add_completion=False)
console = Console()


@app.command()
def run(
    model: Annotated[Path, typer.Option(exists=True, dir_okay=False, resolve_path=True, help="The GGUF to measure.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ROW]…", help=f"All when none is named: {', '.join(CHOICES)}.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Only show that everything runs; the numbers mean nothing.")] = False,
    strict: Annotated[bool, typer.Option(help="Exit with 1 when a row is missed.")] = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder for the results. A whole run writes to benchmarks/results without it.")
    ] = None,
) -> None:
    """Measure decisions against the reference algorithm, and the adapter under load."""
    wanted = list(dict.fromkeys(names or CHOICES))
    if unknown := sorted(set(wanted) - set(CHOICES)):
        raise typer.BadParameter(f"{unknown[0]!r} is no row; there are {', '.join(CHOICES)}")
    settings = Settings.from_environment(
        {**os.environ, "SEMIF_GGUF_PATH": str(model), "SEMIF_MODEL_DIR": str(model.parent)}
    )
    report = measure(settings, quick, wanted)
    print_report(report)
    folder = output or (RESULTS if wanted == CHOICES and not quick else None)
    if folder:
        for file in report.write(folder):
            console.print(f"wrote {file}", highlight=False)
    if strict and report.missed:
        raise typer.Exit(1)


def measure(settings: Settings, quick: bool, wanted: Sequence[str]) -> Report:
    """Measure what is ``wanted``; each row is told as soon as it is known."""
    machine, scale = Machine.here(), QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        logs = Path(folder)
        report, comparisons = measure_sides(settings, scale, wanted, logs, machine)
        report.quick = quick
        for name in (name for name in rows.SERVED if name in wanted):
            add(report, rows.served_row(name, settings, scale, logs))
        if SCALING in wanted and comparisons:
            report.limits += scaling.limits(settings, comparisons)
    return report


def measure_sides(
    settings: Settings, scale: Scale, wanted: Sequence[str], logs: Path, machine: Machine
) -> tuple[Report, dict[str, Comparison]]:
    """What is measured without HTTP: a report that begins with it, and the comparisons behind its rows."""
    comparisons: dict[str, Comparison] = {}
    with ExitStack() as sides:
        ours = sides.enter_context(closing(Remote(EngineSide, settings)))
        reference = sides.enter_context(closing(Remote(ReferenceSide, settings)))
        scaffold, flags = reference.call("describe")
        beside = sides.enter_context(llama_server(settings, scaffold, logs))
        report = Report(date.today(), machine, ours.call("describe"), flags, llama_server=beside is not None)
        for name in (name for name in rows.COMPARED if name in wanted):
            comparisons[name] = rows.compared(name, scale, ours, reference, beside)
            add(report, rows.compared_row(name, comparisons[name]))
        if SCALING in wanted:
            report.curves += scaling.curves(scale, ours)
    return report, comparisons


def add(report: Report, row: Row) -> None:
    """Put ``row`` into the report and say it."""
    report.rows.append(row)
    verdict = "ok" if row.ok else "MISSED"
    console.print(f"{row.name}: {row.reached.median:.2f}× ({row.target}) {verdict}; {row.detail}", highlight=False)


def print_report(report: Report) -> None:
    """Show the tables and the verdict."""
    if report.rows:
        lines = [paper.row_cells(row) for row in report.rows]
        # Without the work and how it was measured, which would leave no room for the rest: that has just been said.
        show("", [paper.ROW_COLUMNS[0], *paper.ROW_COLUMNS[2:-1]], [[cells[0], *cells[2:-1]] for cells in lines])
    if report.limits:
        show("bare llama_decode", paper.LIMIT_COLUMNS, [paper.limit_cells(limit) for limit in report.limits])
    for name, points in report.curves:
        show(f"growing {name}", paper.CURVE_COLUMNS, paper.curve_cells(points))
    console.print(report.verdict(), style="bold")


def show(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    shown = Table(*columns, title=title or None, title_justify="left")
    for cells in lines:
        shown.add_row(*cells)
    console.print(shown)


def main() -> None:
    """Run the command line; what ends a run is one sentence."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the processes that were started too
    try:
        app()
    except (BenchmarkError, StartError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
