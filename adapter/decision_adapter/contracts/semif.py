"""SemIf's contract, our native one: `decision` or `decisions` in, `result` or `results` out."""

from collections.abc import Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from decision_adapter import errors
from decision_adapter.contracts.contract import Asked, Contract
from decision_adapter.decision import MAX_OPTIONS, MIN_OPTIONS, Decision
from decision_adapter.errors import InvalidRequestError, TooLargeError
from decision_adapter.json_body import type_name
from decision_adapter.scorer import Scores

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
        raise InvalidRequestError(f"body: needs exactly one of 'decision' and 'decisions', got {found}")
    _refuse_unknown(body, allowed=kinds)
    if kinds == ["decision"]:
        return Asked((_decision(body["decision"], "decision"),), lambda scores: {"result": scores.results[0]})
    items = body["decisions"]
    if not isinstance(items, list):
        raise InvalidRequestError(f"decisions: must be an array, got {type_name(items)}")
    if not items:
        raise InvalidRequestError("decisions: must hold at least one decision")
    if len(items) > max_shared_decisions:
        raise TooLargeError(
            f"decisions: {len(items)} decisions, at most {max_shared_decisions} (SEMIF_MAX_SHARED_DECISIONS); "
            "send several requests"
        )
    decisions = tuple(_decision(item, f"decisions[{index}]") for index, item in enumerate(items))
    _refuse_repeated([decision.id for decision in decisions], "decisions[{}].id")
    _refuse_other_states(decisions)
    return Asked(decisions, _results)


def _results(scores: Scores) -> dict[str, object]:
    return {"results": scores.results, "timing": scores.timing}


def _decision(value: object, path: str) -> Decision:
    try:
        decision = Decision.model_validate(value)
    except ValidationError as error:
        messages = [_message(detail, path) for detail in error.errors(include_url=False)]
        more = f" (and {len(messages) - 3} more)" if len(messages) > 3 else ""
        raise InvalidRequestError("; ".join(messages[:3]) + more) from error
    _refuse_repeated([option.id for option in decision.options], f"{path}.options[{{}}].id")
    return decision


def _message(detail: ErrorDetails, path: str) -> str:
    """One sentence, ``path: what is allowed, what was sent``, for one of pydantic's errors."""
    for step in detail["loc"]:
        path += f"[{step}]" if isinstance(step, int) else f".{step[:40]}"
    got = type_name(detail["input"])
    sentences = {
        "missing": "is required",
        "extra_forbidden": "is not a field of the contract; remove it",
        "string_type": f"must be a string, got {got}",
        "list_type": f"must be an array, got {got}",
        "model_type": f"must be an object, got {got}",
        "literal_error": f"must be {detail.get('ctx', {}).get('expected')}, got {_cut(detail['input'])}",
        "too_short": f"needs {MIN_OPTIONS} to {MAX_OPTIONS} options, got fewer",
        "too_long": f"needs {MIN_OPTIONS} to {MAX_OPTIONS} options, got more",
    }
    return f"{path}: {sentences.get(detail['type'], detail['msg'])}"


def _cut(value: object) -> str:
    return repr(value)[:42] if isinstance(value, str) else type_name(value)


def _refuse_unknown(body: dict[str, object], allowed: Sequence[str]) -> None:
    unknown = [key for key in body if key not in allowed]
    if unknown:
        raise InvalidRequestError(f"{unknown[0][:40]}: is not a field of the contract; remove it")


def _refuse_repeated(ids: Sequence[str], path: str) -> None:
    for index, item in enumerate(ids):
        if item in ids[:index]:
            raise InvalidRequestError(
                f"{path.format(index)}: {item[:40]!r} is already the id at index {ids.index(item)}; ids must differ"
            )


def _refuse_other_states(decisions: Sequence[Decision]) -> None:
    first = decisions[0].state_json()
    for index, decision in enumerate(decisions):
        if decision.state_json() != first:
            raise InvalidRequestError(
                f"decisions[{index}].state: differs from decisions[0].state; send other states in other requests"
            )
