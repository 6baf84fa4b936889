"""`decide evaluate`: what an endpoint's answers are worth on labelled decisions."""

from pathlib import Path
from typing import Annotated

import typer

from decide import output
from decide.errors import ExitStatus
from decide.evaluation.extra import needed
from decide.files import keep_apart
from decide.options import JsonOption, SaveOption, WaitOption, with_target
from decide.target import Target
from decision_client import Policy

EXAMPLES = (
    "decide evaluate labelled.jsonl --env local --report report.html",
    "decide evaluate labelled.jsonl --url http://127.0.0.1:8080 --order-flips --min-probability 0.8",
    "decide evaluate labelled.jsonl --env dev --against prod --report comparison.html",
    "decide evaluate labelled.dev.run.jsonl --against labelled.prod.run.jsonl",
)
BULK_SECONDS = 60.0
"""How long a busy endpoint is asked again before a run ends where it is."""
_ACT = "What counts as acted on"
_ShareOption = typer.Option(min=0, max=1, metavar="SHARE", rich_help_panel=_ACT)


@with_target
def evaluate(
    *,
    target: Target | None,
    file: Annotated[Path, typer.Argument(help="Labelled decisions as JSON Lines, or a saved run.")],
    against: Annotated[
        str | None, typer.Option(metavar="RUN|URL|ENV", help="Compare with a saved run, a container or an environment.")
    ] = None,
    save: SaveOption = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report, too.")] = None,
    order_flips: Annotated[bool, typer.Option("--order-flips", help="Ask again with the options reversed.")] = False,
    min_probability: Annotated[float, _ShareOption] = 0.0,
    min_margin: Annotated[float, _ShareOption] = 0.0,
    min_mass: Annotated[float, _ShareOption] = 0.0,
    fail_under: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="ACCURACY", help="Exit status 1 below it, for a pipeline.")
    ] = None,
    wait: WaitOption = BULK_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Ask labelled decisions and say how often, how sure and how fast the answers are right.

    Each row is saved when it is there: the same command goes on where one was stopped.
    """
    with needed():
        from decide.evaluation import evaluating, session, terminal  # noqa: PLC0415  # what is heavy comes when needed
    if report is not None:
        keep_apart("--report", report, file, save, Path(against) if against else None)
    policy = Policy("nobody", min_probability, min_margin, min_mass)
    asking = session.Asking(order_flips, wait)
    shown, comparison = evaluating.evaluate(file, target, against=against, save=save, policy=policy, asking=asking)
    if report is not None:
        evaluating.write_report(report, shown, comparison)
        output.messages.print(output.plain(f"report in {report}", "dim"))
    if as_json:
        output.print_json(evaluating.as_json(shown, comparison))
    else:
        terminal.print_evaluation(shown, comparison)
    accuracy = shown[0].evaluation.overall.accuracy
    if fail_under is not None and accuracy.value < fail_under:
        output.warn(f"the accuracy is {accuracy.value:.4f}, below --fail-under {fail_under:g}")
        raise typer.Exit(ExitStatus.INCOMPLETE)
    if accuracy.of and not shown[0].evaluation.overall.valid.count:
        output.warn(f"no row has an answer; the first says: {evaluating.first_failure(shown[0])}")
        raise typer.Exit(ExitStatus.INCOMPLETE)
