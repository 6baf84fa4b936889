"""Asks an endpoint about labelled decisions, one after the other, and saves each row when it is there."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from decide.evaluation.labelled import LabelledDecision
from decide.evaluation.row import Reordered, Row
from decide.evaluation.run_file import RunFile
from decision_client import Decision, EndpointError, Result, UnexpectedAnswerError

SUM_TOLERANCE = 1e-3
"""Of probabilities around 1: endpoints may round theirs."""


class Decides(Protocol):
    """What is needed of a client."""

    def decide(self, decision: Decision) -> Result:
        """The result of ``decision``."""


def ask(
    client: Decides,
    decisions: Sequence[LabelledDecision],
    run: RunFile,
    *,
    order_flips: bool,
    on_row: Callable[[Row], None],
) -> None:
    """Append to ``run`` a row for each of ``decisions`` that has none yet; tell ``on_row`` of each.

    An error that is the decision's own is saved as its row. One at a time, so that the time of a row is the time that
    one caller would wait.

    Raises:
        EndpointError: one that the next decision would meet, too; what is saved stays, and asking again goes on.
        ModelChangedError: another model answers than before.
    """
    first = True
    for labelled in decisions:
        if labelled.decision.id in run.done:
            continue
        started = time.perf_counter()
        outcome = _outcome(client, labelled.decision)
        seconds = time.perf_counter() - started
        if isinstance(outcome, Result):
            run.recognise(outcome.model)
        others = _reordered(client, labelled.decision) if order_flips and isinstance(outcome, Result) else ()
        row = Row.of(labelled, outcome, seconds, first=first, reordered=others)
        run.append(row)
        on_row(row)
        first = False


def orders(decision: Decision) -> list[tuple[int, ...]]:
    """The other orders in which a decision is asked: reversed, and for choices among more than two begun at the second.

    None where the readout averages over orders: it gives the same bits for each.
    """
    if decision.readout.order == "average":
        return []
    sent = tuple(range(len(decision.options)))
    rotated = [(*sent[1:], sent[0])] if decision.type == "choice" and len(sent) > 2 else []
    return [sent[::-1], *rotated]


def _reordered(client: Decides, decision: Decision) -> tuple[Reordered, ...]:
    found = []
    for order in orders(decision):
        outcome = _outcome(client, decision.model_copy(update={"options": tuple(decision.options[i] for i in order)}))
        if isinstance(outcome, Result):
            by_place = sorted(zip(order, outcome.probabilities, strict=True))
            found.append(Reordered(order=order, probabilities=tuple(probability for _, probability in by_place)))
    return tuple(found)


def _outcome(client: Decides, decision: Decision) -> Result | EndpointError:
    """The result, when it is a valid one; else the error that is the decision's own."""
    try:
        result = client.decide(decision)
    except EndpointError as error:
        if not error.of_the_decision:
            raise
        return error
    problem = invalid(result)
    return UnexpectedAnswerError(f"the answer is not valid: {problem}", status=200) if problem else result


def invalid(result: Result) -> str:
    """What makes ``result`` no distribution over its options; nothing for a valid one."""
    probabilities, logits = result.probabilities, result.option_logits
    if len(logits) != len(probabilities):
        return f"{len(logits)} option_logits and {len(probabilities)} probabilities"
    numbers = (*probabilities, *logits, result.allowed_token_mass, result.temperature or 1.0)
    if not all(map(math.isfinite, numbers)):
        return "a number is not finite"
    if min(probabilities) < 0 or abs(sum(probabilities) - 1) > SUM_TOLERANCE:
        return f"probabilities must be 0 or more and sum to 1, and are {list(probabilities)}"
    return ""
