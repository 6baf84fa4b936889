"""Medians over interleaved calls: every step is scored by all sides in turn before the next one."""

import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.errors import BenchmarkError
from benchmarks.sides import Answer, Encoded, Remote, Side
from benchmarks.workloads import Step
from decision_adapter.engine import TokenIds
from decision_adapter.scorer import WARM_UP

OURS, THEIRS, SERVER = "ours", "reference", "llama-server"

REST_SECONDS = 0.02
"""Before each call: the threads of whoever was measured before spin a little for more work, then sleep."""


@dataclass(frozen=True)
class Spread:
    """A median and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of ``values``, at least one."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass(frozen=True)
class Decode:
    """Tokens to decode, and how many stand before them in memory."""

    past: int
    new: int


@dataclass(frozen=True)
class Sample:
    """One step, scored by all."""

    seconds: Mapping[str, float]
    decodes: Sequence[Decode]
    """One a prompt: what is left of it when everything that any earlier prompt began with is in memory."""
    same_answers: int
    """Decisions for which ours and the reference found the same likeliest token."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the longest prompt."""
        return max(decode.past + decode.new for decode in self.decodes)

    @property
    def new_tokens(self) -> int:
        """Tokens that nobody could have had in memory."""
        return sum(decode.new for decode in self.decodes)


@dataclass
class Comparison:
    """The samples of a row."""

    samples: list[Sample] = field(default_factory=list)

    def ratio(self, side: str) -> Spread:
        """How many times the reference's time is that of ``side``, step by step: their lengths differ."""
        return Spread.of([sample.seconds[THEIRS] / sample.seconds[side] for sample in self.samples])

    def seconds(self, side: str) -> float:
        """The median time of ``side``."""
        return statistics.median(sample.seconds[side] for sample in self.samples)

    def middle(self) -> Sample:
        """The sample with the median time of ours, for questions about a typical one."""
        ordered = sorted(self.samples, key=lambda sample: sample.seconds[OURS])
        return ordered[len(ordered) // 2]


def compare(steps: Iterable[Step], ours: Side, reference: Remote, server: Side | None) -> Comparison:
    """Score ``steps`` with everyone. Who begins changes from step to step.

    Raises:
        BenchmarkError: ours and the reference did not read the same prompt.
    """
    comparison = Comparison()
    seen: list[TokenIds] = [item.ids for item in reference.call("encode", [WARM_UP])]
    sides: list[tuple[str, Side]] = [(OURS, ours), (THEIRS, reference)]
    if server is not None:
        sides.append((SERVER, server))
    for step in steps:
        encoded: list[Encoded] = reference.call("encode", step.decisions)
        decodes = _decodes(encoded, seen)
        answers: dict[str, Answer] = {}
        for name, side in sides:
            if step.measured or name != THEIRS:  # the reference keeps nothing, so it has nothing to prepare
                time.sleep(REST_SECONDS)
                answers[name] = side.score(step.decisions)
        sides.append(sides.pop(0))
        _check_prompts(answers[OURS], encoded)
        if step.measured:
            pairs = zip(answers[OURS].argmax_ids, answers[THEIRS].argmax_ids, strict=True)
            comparison.samples.append(
                Sample(
                    {name: answer.seconds for name, answer in answers.items()},
                    decodes,
                    sum(one == other for one, other in pairs),
                )
            )
    return comparison


def common_prefix(one: TokenIds, other: TokenIds) -> int:
    """How many tokens both begin with, but never all of one: the last has to be decoded to give logits."""
    size = min(len(one), len(other)) - 1
    differs = np.nonzero(one[:size] != other[:size])[0]
    return int(differs[0]) if differs.size else size


def _decodes(encoded: Sequence[Encoded], seen: list[TokenIds]) -> list[Decode]:
    """What each prompt adds to all that were ``seen``, which then holds it too."""
    decodes = []
    for item in encoded:
        past = max(common_prefix(item.ids, other) for other in seen)
        decodes.append(Decode(past, len(item.ids) - past))
        seen.append(item.ids)
    return decodes


def _check_prompts(answer: Answer, encoded: Sequence[Encoded]) -> None:
    read = [(item.sha256, len(item.ids)) for item in encoded]
    if answer.prompts != read:
        raise BenchmarkError(
            f"the engine read the prompts {answer.prompts} (SHA-256, tokens), the reference {read}: a comparison would "
            "mean nothing"
        )
