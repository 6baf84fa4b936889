"""The types of SemIf's contract: what a request may hold, and what an answer holds."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from decision_adapter.decision import Decision


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class OneDecision(_Request):
    """A request for one decision."""

    decision: Decision


class SharedDecisions(_Request):
    """A request for several decisions over one state."""

    decisions: list[Decision] = Field(min_length=1, description="All with the same state, and each with its own id.")


class Orders(BaseModel):
    """What averaging over orders of the options found."""

    count: int = Field(ge=1)
    disagreement: float = Field(ge=0, description="How far the orders lie apart; docs/readouts.md has the formula.")
    prompt_sha256: list[str] = Field(description="Of the prompt of each order.")


class Path(BaseModel):
    """A way to the labels: direct, or through a token that the model would rather say first."""

    order: int = Field(ge=0, description="Index of the order of options that it belongs to.")
    token_id: int | None = Field(description="The token before the label; null for the direct way.")
    probability: float = Field(ge=0, le=1)
    option_mass: float = Field(description="Share of the distribution at its end that fell on the labels.")


class Preamble(BaseModel):
    """What looking through preambles found."""

    paths: list[Path]


class Result(BaseModel):
    """How one decision came out. Lists are in the order in which the options were sent."""

    id: str
    option_ids: list[str]
    probabilities: list[float] = Field(description="Of the options; they sum to 1.")
    option_logits: list[float] = Field(description="The model's own, of the options' labels.")
    answer_token_ids: list[int] = Field(description="Of the options' labels.")
    input_tokens: int = Field(ge=1)
    allowed_token_mass: float = Field(description="Share of the next-token distribution that fell on the labels.")
    full_vocab_argmax_id: int = Field(description="The token that the model would have said.")
    full_vocab_argmax_is_option: bool
    prompt_sha256: str
    prompt_version: str
    temperature: float = Field(description="What the logits were divided by; 1 without a calibration.")
    readout: str
    orders: Orders | None = None
    preamble: Preamble | None = None
    forward_seconds: float = Field(ge=0)
    total_seconds: float = Field(ge=0)
    model: dict[str, object] = Field(description="What produced it: model file, libraries, devices, calibration.")
    probability_status: str


class Timing(BaseModel):
    """Where the time of several decisions went."""

    batch_size: int = Field(ge=1)
    prefix_tokens: int = Field(ge=0)
    encode_seconds: float = Field(ge=0)
    prefill_seconds: float = Field(ge=0)
    suffix_forward_seconds: float = Field(ge=0)
    total_seconds: float = Field(ge=0)


class OneResult(BaseModel):
    """The answer to one decision."""

    result: Result


class SharedResults(BaseModel):
    """The answer to several decisions, in their order."""

    results: list[Result]
    timing: Timing


class SemIfError(BaseModel):
    """What went wrong; `retryable` says whether the same request can succeed later."""

    error: str
    retryable: bool | None = None


class Status(BaseModel):
    """Whether a decision can be scored now."""

    status: Literal["ready", "loading"]
