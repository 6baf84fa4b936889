"""What is asked: a state, a question about it and the options to choose from."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticCustomError

_FROZEN = ConfigDict(frozen=True, extra="forbid")


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PydanticCustomError("text", "has half a surrogate pair, which no UTF-8 can carry") from error
    return text


def _json(value: object) -> object:
    """``value`` as it is: what stands in the prompt must be what the caller has."""
    if not isinstance(value, str | Mapping | list | tuple):
        raise PydanticCustomError("state", "must be a string, an object or an array")
    try:
        as_json(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error)
        raise PydanticCustomError("state", "cannot be written as JSON: {reason}", {"reason": reason}) from error
    return value


def as_json(value: object) -> str:
    """The JSON text that is sent. States are the same to an endpoint when these texts are (1 and 1.0 differ)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


Text = Annotated[str, AfterValidator(_text)]
State = Annotated[str | Mapping[str, object] | Sequence[object], PlainValidator(_json)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Option:
    """One of the answers to choose from; only the description is shown to the model."""

    id: Text
    description: Text


class Readout(BaseModel):
    """How the endpoint gets from logits to probabilities; its docs/readouts.md has the formulas and what they cost."""

    model_config = _FROZEN

    order: Literal["sent", "average"] = "sent"
    """``average``: over several orders of the options, so that the one they are sent in does not matter."""
    preamble: Literal["off", "marginal"] = "off"
    """``marginal``: look through the tokens that the model would rather say before a label."""


class Decision(BaseModel):
    """A state, a question about it and the options to choose from.

    Only types are checked here, with pydantic's ``ValidationError``. What an endpoint allows (how many options, how
    long a state) it says itself, with an ``InvalidRequestError`` or ``TooLargeError``.
    """

    model_config = _FROZEN

    id: Text
    """Comes back with the result; the model does not see it."""
    state: State
    """What the question is about: text, or an object or array that can be written as JSON."""
    question: Text
    options: Annotated[Sequence[Option], AfterValidator(tuple)]
    type: Literal["choice", "noul", "score"] = "choice"
    """Pick one, yes or no, a level on a scale: which temperature of a calibration is used."""
    readout: Readout = Readout()

    def wire(self) -> dict[str, object]:
        """The decision as it is sent; what has its default is left out, for endpoints that do not know the field."""
        fields = self.model_dump(exclude_defaults=True, exclude={"state"})
        return {"id": self.id, "state": self.state, **fields}
