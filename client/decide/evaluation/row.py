"""What became of one labelled decision: a line of a saved run."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from decide.evaluation.labelled import LabelledDecision
from decision_client import EndpointError, Result
from decision_client.decision import as_json

EXCERPT_CHARACTERS = 400
"""Of a state, kept to be looked at."""


class _Saved(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(_Saved):
    """What the endpoint said; tuples are in the order of the row's names."""

    probabilities: tuple[float, ...] = Field(min_length=2)
    option_logits: tuple[float, ...]
    option_mass: float
    temperature: float | None
    readout: str
    prompt_sha256: str
    input_tokens: int

    @classmethod
    def of(cls, result: Result) -> Self:
        """What is kept of ``result``."""
        return cls(
            probabilities=result.probabilities,
            option_logits=result.option_logits,
            option_mass=result.allowed_token_mass,
            temperature=result.temperature,
            readout=result.readout,
            prompt_sha256=result.prompt_sha256,
            input_tokens=result.input_tokens,
        )


class Failure(_Saved):
    """Why there is no answer."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: EndpointError) -> Self:
        """What is kept of ``error``."""
        return cls(kind=type(error).__name__, message=str(error))


class Reordered(_Saved):
    """The answer when the options stood in another order."""

    order: tuple[int, ...]
    """Places of the names, in the order in which they were sent."""
    probabilities: tuple[float, ...]
    """In the order of the row's names, as those of the answer."""


class Row(_Saved):
    """A labelled decision with its answer, or with the reason why there is none."""

    id: str
    family: str
    group: str
    type: str
    question: str
    state: str
    """Its beginning."""
    names: tuple[str, ...]
    label: str
    seconds: float
    """From asking to the answer, as the caller waits, retries of a busy endpoint included."""
    first: bool = False
    """Whether it was the first request of a session, which also opens the connection."""
    answer: Answer | None = None
    failure: Failure | None = None
    reordered: tuple[Reordered, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.answer is None) == (self.failure is None):
            raise ValueError("must have an answer or a failure")
        if self.answer and not len(self.answer.probabilities) == len(self.answer.option_logits) == len(self.names):
            raise ValueError(f"must have a probability and a logit for each of its {len(self.names)} names")
        if any(len(other.probabilities) != len(self.names) for other in self.reordered):
            raise ValueError(f"each reordered answer must have {len(self.names)} probabilities")
        if self.label not in self.names:
            raise ValueError(f"the label {self.label!r} is none of its names")
        return self

    @classmethod
    def of(
        cls,
        labelled: LabelledDecision,
        outcome: Result | EndpointError,
        seconds: float,
        *,
        first: bool = False,
        reordered: tuple[Reordered, ...] = (),
    ) -> Self:
        """The row of ``labelled``, whose decision had ``outcome`` after ``seconds``."""
        decision, state = labelled.decision, labelled.decision.state
        return cls(
            id=decision.id,
            family=labelled.family,
            group=labelled.group,
            type=decision.type,
            question=decision.question,
            state=(state if isinstance(state, str) else as_json(state))[:EXCERPT_CHARACTERS],
            names=labelled.names,
            label=labelled.label,
            seconds=seconds,
            first=first,
            answer=Answer.of(outcome) if isinstance(outcome, Result) else None,
            failure=None if isinstance(outcome, Result) else Failure.of(outcome),
            reordered=reordered,
        )

    @property
    def place(self) -> int:
        """Of the label among the names."""
        return self.names.index(self.label)

    @property
    def choice(self) -> str | None:
        """The likeliest name, of equals the first; None without an answer."""
        return self.names[likeliest(self.answer.probabilities)] if self.answer else None

    @property
    def correct(self) -> bool:
        """Whether the choice is the label; a row without an answer is wrong."""
        return self.choice == self.label

    @property
    def flipped(self) -> bool:
        """Whether another order of the options led to another choice."""
        return any(self.names[likeliest(other.probabilities)] != self.choice for other in self.reordered)


def likeliest(probabilities: tuple[float, ...]) -> int:
    """The place of the greatest; of equals the first."""
    return probabilities.index(max(probabilities))
