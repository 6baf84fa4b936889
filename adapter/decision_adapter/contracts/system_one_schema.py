"""The types of System One's contract: what a request may hold, and what an answer holds."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from decision_adapter.contracts.answer_readout import AnswerReadout
from decision_adapter.decision import MAX_OPTIONS, MIN_OPTIONS, State
from decision_adapter.json_body import type_name

MAX_LEVELS = 10


def _content(value: object) -> object:
    if not isinstance(value, str | dict | list):
        raise PydanticCustomError(
            "content", "must be a string, an object or an array, got {got}", {"got": type_name(value)}
        )
    return value


def _few(value: object) -> object:
    """Refuses many names before any is looked at: each could be a problem of its own."""
    if isinstance(value, dict) and len(value) > MAX_OPTIONS:
        lengths = {"max_length": MAX_OPTIONS, "actual_length": len(value)}
        raise PydanticCustomError("too_long", "too many names", lengths)
    return value


def _no_assets(value: object) -> object:
    if value is not None:
        raise PydanticCustomError("assets", "images cannot be read here; ask about text or JSON")
    return value


Content = Annotated[str | dict[str, object] | list[object], BeforeValidator(_content)]
"""Text, or JSON that the model reads as JSON text."""


class _Question(BaseModel):
    """Fields that are not known are left alone: a client may be newer than this."""

    model_config = ConfigDict(strict=True, frozen=True)

    instructions: Content | None = Field(default=None, description="What is asked about the state.")


class NoulCriteria(BaseModel):
    """What counts as yes and as no."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    true: Content | None = Field(default=None, description="What counts as yes.")
    false: Content | None = Field(default=None, description="What counts as no.")


class NoulQuestion(_Question):
    """A question to be answered with yes or no; it has instructions, or says what counts as yes or no."""

    type: Literal["noul"]
    criteria: Annotated[NoulCriteria | None, BeforeValidator(_few)] = None


class ChoiceQuestion(_Question):
    """A question to be answered with one of several names."""

    type: Literal["choice"]
    criteria: Annotated[dict[str, Content | None], BeforeValidator(_few)] = Field(
        min_length=MIN_OPTIONS, max_length=MAX_OPTIONS, description="The names, each with when it applies, or null."
    )


class ScoreQuestion(_Question):
    """A question to be answered with a level of a scale."""

    type: Literal["score"]
    criteria: list[Content] = Field(
        min_length=2, max_length=MAX_LEVELS, description="What each level means, from the lowest, 0, to the highest."
    )


Question = Annotated[NoulQuestion | ChoiceQuestion | ScoreQuestion, Field(discriminator="type")]


class SystemOneRequest(BaseModel):
    """A state, and questions about it that do not know of each other."""

    model_config = ConfigDict(strict=True, frozen=True)

    model: str = Field(description="`jev-latest`, or the name of the model that is served.")
    state: State = Field(description="What all questions are about.")
    questions: dict[str, Question] = Field(
        min_length=1, description="Each under a name of the caller's, which the model does not see."
    )
    assets: Annotated[None, BeforeValidator(_no_assets)] = Field(default=None, description="Images; there can be none.")


class NoulAnswer(BaseModel):
    """The probability of yes."""

    type: Literal["noul"] = "noul"
    noul: float = Field(ge=0, le=1)
    x_readout: AnswerReadout


class ChoiceAnswer(BaseModel):
    """The likeliest name, and how likely each is."""

    type: Literal["choice"] = "choice"
    choice: str
    probabilities: dict[str, float]
    confidence: float = Field(ge=0, le=1, description="(n · max − 1) / (n − 1): 0 when all are equally likely.")
    x_readout: AnswerReadout


class ScoreAnswer(BaseModel):
    """The expected level, and how likely each is."""

    type: Literal["score"] = "score"
    score: float = Field(description="Σ i · p(i), which may lie between levels.")
    legend: dict[str, Content] = Field(description="The levels as sent, under their numbers.")
    probabilities: dict[str, float] = Field(description="Of each level, under its number.")
    confidence: float = Field(ge=0, le=1, description="max(0, 1 − Σ p(i) |i − mode| / D): 0 when spread out.")
    x_readout: AnswerReadout


class Usage(BaseModel):
    """Tokens of the request, the state counted once; none are generated."""

    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(default=0, ge=0)


class SystemOneAnswer(BaseModel):
    """An answer for each question, under its name."""

    model: str = Field(description="The model that answered, whatever name it was asked by.")
    answers: dict[str, NoulAnswer | ChoiceAnswer | ScoreAnswer]
    usage: Usage
    x_model: dict[str, object] = Field(description="What produced the answers: model file, libraries, calibration.")
    x_timing: dict[str, object] = Field(description="Where the time went, in seconds.")


class ModelEntry(BaseModel):
    """A name that a request's `model` may have."""

    name: str
    description: str
    release_date: str = Field(description="YYYY-MM-DD; 1970-01-01, since a model file does not tell.")


class ModelList(BaseModel):
    """The names there are: all of one model."""

    models: list[ModelEntry]


class ValidationProblem(BaseModel):
    """One thing that is wrong with a request."""

    loc: list[str | int] = Field(description="`body`, and the keys and indexes that lead to it.")
    msg: str
    type: str


class ValidationProblems(BaseModel):
    """What a request with status 422 is told."""

    detail: list[ValidationProblem]


class SystemOneErrorDetail(BaseModel):
    """An error that has no place in the body."""

    error_type: str
    message: str


class SystemOneError(BaseModel):
    """What a request with any other error is told."""

    detail: SystemOneErrorDetail
