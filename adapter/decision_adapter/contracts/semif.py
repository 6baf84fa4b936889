"""SemIf's contract, our native one: `decision` or `decisions` in, `result` or `results` out."""

from collections.abc import Sequence

from decision_adapter import errors
from decision_adapter.contracts.contract import Asked, Contract
from decision_adapter.contracts.semif_schema import OneDecision, SharedDecisions
from decision_adapter.decision import Decision
from decision_adapter.errors import InvalidRequestError, Place, Problem, TooLargeError
from decision_adapter.validation import validate

OWN_FIELDS = ("decision", "decisions")


def contract(max_shared_decisions: int) -> Contract:
    """The contract for requests of at most ``max_shared_decisions`` decisions."""
    return Contract("semif", OWN_FIELDS, lambda body: ask(body, max_shared_decisions), errors.answer)


def ask(body: dict[str, object], max_shared_decisions: int) -> Asked:
    """What ``body`` asks for: one decision, or several over the same state.

    Raises:
        InvalidRequestError: the contract is broken; the message starts with the field's path.
        TooLargeError: more than ``max_shared_decisions`` decisions.
    """
    kinds = [kind for kind in OWN_FIELDS if kind in body]
    if len(kinds) != 1:
        found = "both" if kinds else "neither"
        raise InvalidRequestError(Problem((), f"needs exactly one of 'decision' and 'decisions', got {found}"))
    if kinds == ["decision"]:
        decision = validate(OneDecision, body).decision
        _refuse_repeated_options(decision, ("decision",))
        return Asked((decision,), lambda scores: {"result": scores.results[0]})
    items = body["decisions"]
    if isinstance(items, list) and len(items) > max_shared_decisions:
        raise TooLargeError(
            f"decisions: {len(items)} decisions, at most {max_shared_decisions} (SEMIF_MAX_SHARED_DECISIONS); "
            "send several requests"
        )
    decisions = tuple(validate(SharedDecisions, body).decisions)
    for index, decision in enumerate(decisions):
        _refuse_repeated_options(decision, ("decisions", index))
    _refuse_repeated([decision.id for decision in decisions], ("decisions",))
    _refuse_other_states(decisions)
    return Asked(decisions, lambda scores: {"results": scores.results, "timing": scores.timing})


def _refuse_repeated_options(decision: Decision, place: Place) -> None:
    _refuse_repeated([option.id for option in decision.options], (*place, "options"))


def _refuse_repeated(ids: Sequence[str], place: Place) -> None:
    for index, item in enumerate(ids):
        if item in ids[:index]:
            sentence = f"{item[:40]!r} is already the id at index {ids.index(item)}; ids must differ"
            raise InvalidRequestError(Problem((*place, index, "id"), sentence))


def _refuse_other_states(decisions: Sequence[Decision]) -> None:
    first = decisions[0].state_json()
    for index, decision in enumerate(decisions):
        if decision.state_json() != first:
            sentence = "differs from decisions[0].state; send other states in other requests"
            raise InvalidRequestError(Problem(("decisions", index, "state"), sentence))
