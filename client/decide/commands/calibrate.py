"""`decide calibrate`: temperatures for the model archive, fitted on labelled decisions."""

from pathlib import Path
from typing import Annotated

import typer

from decide import output
from decide.commands.evaluate import BULK_SECONDS
from decide.evaluation.extra import needed
from decide.files import keep_apart
from decide.options import JsonOption, SaveOption, WaitOption, with_target
from decide.target import Target

EXAMPLES = (
    "decide calibrate labelled.dev.run.jsonl",
    "decide calibrate labelled.jsonl --env dev --output calibration.json --id support-2026-12",
)


@with_target
def calibrate(
    *,
    target: Target | None,
    file: Annotated[Path, typer.Argument(help="A saved run, or labelled decisions as JSON Lines.")],
    result: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="What to write.")] = Path(
        "calibration.json"
    ),
    calibration_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Named in every answer; made from the content by default.")
    ] = None,
    save: SaveOption = None,
    wait: WaitOption = BULK_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Fit temperatures on labelled decisions, and write them when they help on rows they have not seen."""
    with needed():
        from decide.evaluation import calibrating, terminal  # noqa: PLC0415  # what is heavy comes when needed
    keep_apart("--output", result, file, save)
    done = calibrating.calibrate(file, target, save, wait, calibration_id)
    calibrating.write(result, done.content)
    if as_json:
        output.print_json(done.as_json())
    else:
        terminal.print_fitted(done.fitted, done.content)
    output.messages.print(output.plain(f"{done.content['id']} is in {result}", "green"))
