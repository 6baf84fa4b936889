"""`decide invoke`: one request, and its answer as a table."""

import json
import time
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError

from decide import output
from decide.options import INTERACTIVE_SECONDS, JsonOption, WaitOption, patient, with_target
from decide.request import body_of_file, decision_of_options
from decide.tables import result_table
from decide.target import Target
from decision_client import Readout, Result
from decision_client.decision import as_json

EXAMPLES = (
    "decide invoke --env local --state 'The reset email never arrived.' --question 'Which queue?' "
    "--option 'account=Account access.' --option 'billing=Payments.'",
    "decide invoke --env local request.json",
    "cat request.json | decide invoke --url http://127.0.0.1:8080 --json -",
)


@with_target
def invoke(
    *,
    target: Target,
    file: Annotated[Path | None, typer.Argument(help="A request of any contract, as JSON; - is stdin.")] = None,
    state: Annotated[str | None, typer.Option(help="What the question is about.")] = None,
    question: Annotated[str | None, typer.Option(help="What to decide.")] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="ID=DESCRIPTION", help="One of the answers.")] = None,
    kind: Annotated[
        Literal["choice", "noul", "score"], typer.Option("--type", help="What kind of question.")
    ] = "choice",
    order: Annotated[Literal["sent", "average"], typer.Option(help="Average over orders of the options.")] = "sent",
    preamble: Annotated[Literal["off", "marginal"], typer.Option(help="Look through preambles.")] = "off",
    wait: WaitOption = INTERACTIVE_SECONDS,
    as_it_is: JsonOption = False,
) -> None:
    """Send one request and show the answer: bars, probabilities, margin and option mass."""
    if file is not None:
        body = body_of_file(file)
    else:
        readout = Readout(order=order, preamble=preamble)
        decision = decision_of_options(state, question, option or [], kind, readout)
        body = as_json({"decision": decision.wire()}).encode()
    settings = patient(wait)
    transport = target.transport(settings)
    started = time.perf_counter()
    with output.messages.status(f"asking {target} …"):
        answer = settings.backoff.run(lambda: transport.send(body))
    seconds = time.perf_counter() - started
    transport.close()
    _print(answer, seconds, as_it_is)


def _print(answer: bytes, seconds: float, as_it_is: bool) -> None:
    told = json.loads(answer)
    if as_it_is:
        output.print_json(told)
        return
    try:
        found = [Result.model_validate(one) for one in told.get("results", [told.get("result")])]
    except ValidationError:
        output.print_json(told)
        return
    for result in found:
        output.results.print(result_table(result))
    output.messages.print(f"answered in {seconds * 1000:.0f} ms", style="dim")
