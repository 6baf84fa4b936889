"""An answer of OpenAI's Decisions API, as types.

Fields and shapes are those of the `openai` package, 3.57.0. Fields beyond them begin with ``x_``; its client keeps
them.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from decision_adapter.contracts.answer_readout import AnswerReadout

NAME = Field(description="Of the question, null when it has none.")


class PredicateAnswer(BaseModel):
    """How likely the statement is."""

    type: Literal["predicate"] = "predicate"
    name: str | None = NAME
    probability: float = Field(description="That it is true.")
    x_readout: AnswerReadout


class ChoiceProbability(BaseModel):
    """How likely a choice is."""

    value: str | bool
    probability: float


class OpenAIChoiceAnswer(BaseModel):
    """The likeliest choice."""

    type: Literal["choice"] = "choice"
    name: str | None = NAME
    choice: str | bool
    probabilities: list[ChoiceProbability] = Field(description="In the order of the choices.")
    confidence: float = Field(description="(n · max − 1) / (n − 1): 0 when all are equally likely.")
    x_readout: AnswerReadout


class ScoreProbability(BaseModel):
    """How likely a level is."""

    value: int = Field(description="Index of the level, 0 for the first.")
    label: str
    probability: float


class OpenAIScoreAnswer(BaseModel):
    """The expected level."""

    type: Literal["score"] = "score"
    name: str | None = NAME
    score: float = Field(description="Sum of value times probability.")
    probabilities: list[ScoreProbability] = Field(description="In the order of the levels.")
    confidence: float = Field(description="How close the probabilities lie to the likeliest level.")
    x_readout: AnswerReadout


class InputTokensDetails(BaseModel):
    """Where the tokens came from."""

    cached_tokens: int = Field(description="Of the input, in memory before and not decoded.")
    cache_write_tokens: int = Field(default=0, description="Not counted here: always 0.")


class OutputTokensDetails(BaseModel):
    """Nothing is written."""

    reasoning_tokens: int = 0


class TokenUsage(BaseModel):
    """Tokens of the request."""

    input_tokens: int = Field(description="Input and questions as the model read them, the input counted once.")
    input_tokens_details: InputTokensDetails
    output_tokens: int = 0
    output_tokens_details: OutputTokensDetails = OutputTokensDetails()
    total_tokens: int


class DecisionResponse(BaseModel):
    """The answers, in the order of the questions. There are no refusals: this model can only weigh options."""

    model: str = Field(description="Name of the model that answered: its GGUF file.")
    answers: list[Annotated[PredicateAnswer | OpenAIChoiceAnswer | OpenAIScoreAnswer, Field(discriminator="type")]]
    usage: TokenUsage
    x_model: dict[str, object] = Field(description="Identity of the model, the library, the devices, the calibration.")
    x_timing: dict[str, object] = Field(description="Where the time went.")


class OpenAIErrorDetail(BaseModel):
    """What went wrong."""

    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: str | None = Field(description="Path of the field, where one is at fault.")
    code: str


class OpenAIError(BaseModel):
    """An error."""

    error: OpenAIErrorDetail
