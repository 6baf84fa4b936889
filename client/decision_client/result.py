"""What is answered. What a newer endpoint adds beside these fields is kept, and is in `model_dump()`."""

from pydantic import BaseModel, ConfigDict, model_validator


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class GgufIdentity(_Answer):
    """The model file."""

    file: str
    sha256: str
    bytes: int
    repo: str | None = None
    revision: str | None = None


class TokenizerIdentity(_Answer):
    """Where the tokenizer came from, when it was packed beside the model file."""

    repo: str | None = None
    revision: str | None = None


class LlamaCppIdentity(_Answer):
    """The library and its binding."""

    build: str | int | None = None
    binding_version: str | None = None


class ModelIdentity(_Answer):
    """What produced a result. Results with the same identity and prompt are the same bits."""

    gguf: GgufIdentity | None = None
    tokenizer: TokenizerIdentity | None = None
    llama_cpp: LlamaCppIdentity | None = None
    backends: tuple[str, ...] = ()
    gpu_layers: int | None = None
    threads: int | None = None
    prompt_profile: str | None = None
    labels_sha256: str | None = None
    calibration: str | None = None
    """Id of the calibration; None: probabilities are uncalibrated."""


class Orders(_Answer):
    """What averaging over orders of the options found."""

    count: int
    disagreement: float
    """How far the orders lie apart: 0 when all say the same."""
    prompt_sha256: tuple[str, ...]


class PreamblePath(_Answer):
    """A way to the labels: direct, or through a token that the model would rather say first."""

    order: int
    token_id: int | None
    """None for the direct way."""
    probability: float
    option_mass: float


class Preamble(_Answer):
    """What looking through preambles found."""

    paths: tuple[PreamblePath, ...]


class Timing(_Answer):
    """Where the time of a request with several decisions went."""

    batch_size: int
    prefix_tokens: int
    encode_seconds: float
    prefill_seconds: float
    suffix_forward_seconds: float
    total_seconds: float


class Result(_Answer):
    """How one decision came out. Tuples are in the order of the decision's options.

    Probabilities are conditional on the options that were sent, and uncalibrated unless ``model.calibration`` says so.
    """

    id: str
    option_ids: tuple[str, ...]
    probabilities: tuple[float, ...]
    option_logits: tuple[float, ...]
    answer_token_ids: tuple[int, ...]
    input_tokens: int
    allowed_token_mass: float
    """Share of the whole next-token distribution that fell on the options: low when the model wanted something else."""
    full_vocab_argmax_id: int
    full_vocab_argmax_is_option: bool | None = None
    prompt_sha256: str
    prompt_version: str
    temperature: float | None = None
    readout: str
    orders: Orders | None = None
    preamble: Preamble | None = None
    forward_seconds: float
    total_seconds: float
    model: ModelIdentity
    probability_status: str
    timing: Timing | None = None
    """Of the request that this decision shared with others; None for one that was asked alone."""

    @model_validator(mode="after")
    def _check(self) -> "Result":
        if not self.option_ids or len(self.option_ids) != len(self.probabilities):
            raise ValueError(f"{len(self.option_ids)} option_ids and {len(self.probabilities)} probabilities")
        return self

    @property
    def choice(self) -> str:
        """Id of the most probable option; of equals the first."""
        return self.option_ids[self.probabilities.index(self.probability)]

    @property
    def probability(self) -> float:
        """Of the choice."""
        return max(self.probabilities)

    @property
    def margin(self) -> float:
        """By how much the choice is more probable than the next option; its probability where there is no other."""
        first, second, *_ = *sorted(self.probabilities, reverse=True), 0.0
        return first - second

    def probability_of(self, option_id: str) -> float:
        """Of the option with this id.

        Raises:
            KeyError: there was no such option.
        """
        return dict(zip(self.option_ids, self.probabilities, strict=True))[option_id]
