"""The decision contract: what a request may hold, as types, and messages that name the field that is wrong."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from decision_adapter.errors import InvalidRequestError, TooLargeError
from decision_adapter.json_body import type_name

MIN_OPTIONS = 2
MAX_OPTIONS = 255
"""What the contract allows; a vocabulary with fewer labels lowers it."""

DecisionType = Literal["choice", "noul", "score"]
"""Pick one, yes or no, a level on a scale: what a calibration can tell apart. The model does not see it."""

JsonState = str | dict[str, object] | list[object]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "must not be blank")
    return text


def _state(value: object) -> object:
    if not isinstance(value, str | dict | list):
        raise PydanticCustomError(
            "state", "must be a string, an object or an array, got {got}", {"got": type_name(value)}
        )
    if not value or (isinstance(value, str) and not value.strip()):
        raise PydanticCustomError("blank", "must not be empty")
    return value


Text = Annotated[str, AfterValidator(_not_blank)]


class Option(BaseModel):
    """One of the answers to choose from; only the description is shown to the model."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    id: Text
    description: Text


class Readout(BaseModel):
    """How to get from logits to probabilities; ``docs/readouts.md`` has the formulas and what they cost."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    order: Literal["sent", "average"] = "sent"
    """``average``: over several orders of the options, so that the one they are sent in does not matter."""
    preamble: Literal["off", "marginal"] = "off"
    """``marginal``: look through the tokens that the model would rather say before a label."""


class Decision(BaseModel):
    """A state, a question about it and the options to choose from."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    id: Text
    state: Annotated[JsonState, BeforeValidator(_state)]
    question: Text
    options: list[Option] = Field(min_length=MIN_OPTIONS, max_length=MAX_OPTIONS)
    type: DecisionType = "choice"
    readout: Readout = Readout()

    def state_json(self) -> str:
        """The state as it stands in the prompt. States are the same when these texts are (1, 1.0 and true differ)."""
        return json.dumps(self.state, ensure_ascii=False)


@dataclass(frozen=True)
class DecisionRequest:
    """A valid request: one decision, or several over the same state."""

    decisions: tuple[Decision, ...]
    shared: bool
    """Whether the body said ``decisions``, which asks for a list and a timing in return."""


def validate(body: dict[str, object], max_shared_decisions: int) -> DecisionRequest:
    """The request in ``body``.

    Raises:
        InvalidRequestError: the contract is broken; the message starts with the field's path.
        TooLargeError: more than ``max_shared_decisions`` decisions.
    """
    kinds = [kind for kind in ("decision", "decisions") if kind in body]
    if len(kinds) != 1:
        found = "both" if kinds else "neither"
        raise InvalidRequestError(f"body: needs exactly one of 'decision' and 'decisions', got {found}")
    _refuse_unknown(body, allowed=kinds)
    if kinds == ["decision"]:
        return DecisionRequest((_decision(body["decision"], "decision"),), shared=False)
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
    return DecisionRequest(decisions, shared=True)


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
