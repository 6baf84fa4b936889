"""Those who are compared. Each has a process of its own, as it would be deployed, and times itself there.

In one process they would share a pool of OpenMP threads that is then twice the number of CPUs, and both would be slower
than they are.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, Protocol

from decision_adapter.decision import Decision
from decision_adapter.engine import TokenIds
from decision_adapter.llama import library
from decision_adapter.loading import load_scorer
from decision_adapter.prompt import Scaffold, user_text
from decision_adapter.scorer import WARM_UP
from decision_adapter.settings import Settings


@dataclass(frozen=True)
class Answer:
    """What one call gave, and how long it took where it was computed."""

    seconds: float
    argmax_ids: list[int]
    """The likeliest next token of each decision."""
    prompts: list[tuple[str, int]]
    """SHA-256 and tokens of each prompt. llama-server says neither this nor the above."""


@dataclass(frozen=True)
class Encoded:
    """A decision as the reference reads it."""

    ids: TokenIds
    sha256: str


class Side(Protocol):
    """One way to score decisions."""

    def score(self, decisions: Sequence[Decision]) -> Answer:
        """Score ``decisions``, which share a state."""


class EngineSide:
    """Ours, from decisions to results: rendering, limits, tokenising, the engine thread, readout. Without HTTP."""

    def __init__(self, settings: Settings) -> None:
        self._scorer = load_scorer(settings)
        self._scorer.examine()
        self._identity = self._scorer.score([WARM_UP]).results[0]["model"]

    def score(self, decisions: Sequence[Decision]) -> Answer:
        """Score ``decisions``, which share a state."""
        started = time.perf_counter()
        results: list[Any] = self._scorer.score(decisions).results
        seconds = time.perf_counter() - started
        return Answer(
            seconds,
            [result["full_vocab_argmax_id"] for result in results],
            [(result["prompt_sha256"], result["input_tokens"]) for result in results],
        )

    def describe(self) -> object:
        """The identity that every result carries."""
        return self._identity


class ReferenceSide:
    """The reference algorithm, from decisions to rows of logits; what is made of the rows is not in its time."""

    def __init__(self, settings: Settings) -> None:
        library.load(settings.lib_dir)
        from benchmarks.reference import Reference  # noqa: PLC0415  # needs the library that was just chosen

        self._reference = Reference(settings)
        self._reference.score([WARM_UP])

    def score(self, decisions: Sequence[Decision]) -> Answer:
        """Score ``decisions``, which share a state."""
        started = time.perf_counter()
        rows = self._reference.score(decisions)
        seconds = time.perf_counter() - started
        encoded = self.encode(decisions)
        return Answer(seconds, [int(row.argmax()) for row in rows], [(item.sha256, len(item.ids)) for item in encoded])

    def encode(self, decisions: Sequence[Decision]) -> list[Encoded]:
        """Token ids and hash of each prompt."""
        scaffold = self._reference.scaffold
        return [
            Encoded(self._reference.encode(decision), scaffold.sha256(user_text(decision))) for decision in decisions
        ]

    def describe(self) -> tuple[Scaffold, str]:
        """The model's scaffold, and the instruction sets and options that llama.cpp was built with."""
        import llama_cpp  # noqa: PLC0415  # as above

        return self._reference.scaffold, llama_cpp.llama_print_system_info().decode().strip(" |")


class Remote:
    """An object in a fresh process. Its methods are called one at a time."""

    def __init__(self, make: Callable[..., object], *arguments: object) -> None:
        """Start the process and ``make(*arguments)`` there; what that raises is raised here."""
        self._process = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))
        try:
            self._process.submit(_make, make, arguments).result()
        except BaseException:
            self.close()
            raise

    def call(self, method: str, *arguments: object) -> Any:
        """What the object's ``method`` gives."""
        return self._process.submit(_call, method, arguments).result()

    def score(self, decisions: Sequence[Decision]) -> Answer:
        """What a side answers."""
        answer: Answer = self.call("score", decisions)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.shutdown()


_made: list[object] = []
"""In the fresh process: the object."""


def _make(make: Callable[..., object], arguments: tuple[object, ...]) -> None:
    _made.append(make(*arguments))


def _call(method: str, arguments: tuple[object, ...]) -> object:
    return getattr(_made[0], method)(*arguments)
