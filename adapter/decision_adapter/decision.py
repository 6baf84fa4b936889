"""A decision: a state, a question about it and the options to choose from. Every contract is read into these."""

import json
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

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


State = Annotated[JsonState, BeforeValidator(_state)]
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
    state: State
    question: Text
    options: list[Option] = Field(min_length=MIN_OPTIONS, max_length=MAX_OPTIONS)
    type: DecisionType = "choice"
    readout: Readout = Readout()

    def state_json(self) -> str:
        """The state as it stands in the prompt. States are the same when these texts are (1, 1.0 and true differ)."""
        return json.dumps(self.state, ensure_ascii=False)
