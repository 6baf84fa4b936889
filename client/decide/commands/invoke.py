"""`decide invoke`: one request, and its answer as a table."""

import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from decide import output
from decide.answers import Outcome, outcomes
from decide.errors import UsageError
from decide.options import INTERACTIVE_SECONDS, JsonOption, WaitOption, patient, with_target
from decide.policy import policy_of
from decide.request import decision_of_options, request_of_file
from decide.tables import outcome_table
from decide.target import Target
from decision_client import Choice, Policy, Readout, UnexpectedAnswerError
from decision_client.decision import as_json

EXAMPLES = (
    "decide invoke --env local --state 'The reset email never arrived.' --question 'Which queue?' "
    "--option 'account=Account access.' --option 'billing=Payments.'",
    "decide invoke --env local request.json",
    "decide invoke --env local --json - < request.json",
    "decide invoke --env local request.json --fallback people --min-probability 0.6 --min-mass 0.01",
)
_POLICY = "Policy"


@with_target
def invoke(
    *,
    target: Target,
    file: Annotated[Path | None, typer.Argument(help="A request of any contract, as JSON; - is stdin.")] = None,
    state: Annotated[str | None, typer.Option(help="What the question is about.")] = None,
    question: Annotated[str | None, typer.Option(help="What to decide.")] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="ID=DESCRIPTION", help="One of the answers.")] = None,
    kind: Annotated[Literal["choice", "noul", "score"], typer.Option("--type", help="Of the question.")] = "choice",
    order: Annotated[Literal["sent", "average"], typer.Option(help="Average over orders of the options.")] = "sent",
    preamble: Annotated[Literal["off", "marginal"], typer.Option(help="Look through preambles.")] = "off",
    fallback: Annotated[
        str | None, typer.Option(help="What to choose below a threshold.", rich_help_panel=_POLICY)
    ] = None,
    min_probability: Annotated[float | None, typer.Option(help="Of the choice.", rich_help_panel=_POLICY)] = None,
    min_margin: Annotated[float | None, typer.Option(help="Over the next option.", rich_help_panel=_POLICY)] = None,
    min_mass: Annotated[float | None, typer.Option(help="On the options.", rich_help_panel=_POLICY)] = None,
    wait: WaitOption = INTERACTIVE_SECONDS,
    as_it_is: JsonOption = False,
) -> None:
    """Send one request and show the answer: bars, probabilities, margin and option mass.

    With --json the answer is printed as it came; a policy adds its choice to each result.
    """
    policy = policy_of(fallback, min_probability, min_margin, min_mass)
    if file is not None and (state or question or option):
        raise UsageError(f"{file} has the whole request: leave --state, --question and --option out, or the file")
    readout = Readout(order=order, preamble=preamble)
    request = (
        request_of_file(file)
        if file
        else {"decision": decision_of_options(state, question, option or [], kind, readout).wire()}
    )
    answer, seconds = _ask(target, request, wait)
    found = outcomes(answer, request)
    choices = _choices(policy, found)
    if as_it_is:
        output.print_json(_with_choices(answer, choices))
        return
    if not found:
        output.warn("the answer is of no contract that is known here; this is all of it")
        output.print_json(answer)
    for number, outcome in enumerate(found):
        output.results.print(outcome_table(outcome, choices[number] if choices else None))
    output.messages.print(f"answered in {seconds * 1000:.0f} ms", style="dim")


def _ask(target: Target, request: object, wait: float) -> tuple[dict[str, Any], float]:
    """The answer and the seconds it took, those of earlier attempts included.

    Raises:
        UnexpectedAnswerError: it is not a JSON object.
    """
    settings, body = patient(wait), as_json(request).encode()
    with output.messages.status(f"asking {target} …"), closing(target.transport(settings)) as transport:
        started = time.perf_counter()
        text = settings.backoff.run(lambda: transport.send(body))
        seconds = time.perf_counter() - started
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise UnexpectedAnswerError(f"{target} answered no JSON object; is this a decision endpoint?", status=200)
    return answer, seconds


def _choices(policy: Policy | None, found: Sequence[Outcome]) -> list[Choice]:
    """What ``policy`` makes of each outcome; nothing without one.

    Raises:
        UsageError: there is a policy, and the answer is not of the contract that it is for.
    """
    if policy is None:
        return []
    results = [outcome.result for outcome in found if outcome.result is not None]
    if not results:
        raise UsageError("--fallback and its thresholds are for requests with 'decision' or 'decisions' alone")
    return [policy.choose(result) for result in results]


def _with_choices(answer: dict[str, Any], choices: Sequence[Choice]) -> dict[str, Any]:
    """``answer`` with the field ``policy`` in each result that has a choice."""
    results = answer.get("results") or [answer.get("result")]
    for result, choice in zip(results, choices, strict=False):
        result["policy"] = asdict(choice)
    return answer
