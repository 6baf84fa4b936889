"""The seam between scoring decisions and llama.cpp: token ids go in, the logits of the next token come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from decision_adapter.errors import RequestError
from decision_adapter.prompt import Scaffold

TokenIds = NDArray[np.int32]


@dataclass(frozen=True)
class Segments:
    """A prompt cut in two: each piece is decoded by itself.

    A decode's result depends, in its last bits, on where the prompt is cut. So the cut must follow from the prompt
    alone: never from what is in memory, and never from what else a request asks.
    """

    prefix: TokenIds
    """Scaffold and state; kept while the questions about it are scored."""
    suffix: TokenIds
    """Question and options, at least one token."""

    def __len__(self) -> int:
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True)
class Evaluation:
    """What one prompt gave."""

    logits: NDArray[np.float32]
    """Next-token logits after the last token, shape (n_vocab,); a copy."""
    prefill_seconds: float
    """Time to decode the prefix; 0.0 when an earlier prompt of the same call left it in memory."""
    suffix_seconds: float
    reused_tokens: int = 0
    """Tokens of the prompt that were not decoded because they were still in memory."""


class Stop:
    """A request to stop one piece of work, made from any thread while the engine thread does it.

    llama.cpp looks at ``flag`` itself, between two nodes of its graph; hence an array with an address.
    """

    def __init__(self) -> None:
        self.flag = np.zeros(2, dtype=np.uint8)
        """uint8, shape (2,): [0, 0], and [1, 0] once stopped; read by llama.cpp as a C string."""
        self.error: RequestError | None = None

    def set(self, error: RequestError) -> None:
        """Stop the work; its caller gets ``error``, unless it is done by then."""
        self.error = error
        self.flag[0] = 1

    def check(self) -> None:
        """Raise the error of ``set``, if it was called."""
        if self.error is not None:
            raise self.error


class Engine(Protocol):
    """A loaded model with its prompt scaffold."""

    @property
    def scaffold(self) -> Scaffold:
        """What the model's chat template puts around the caller's text."""

    @property
    def answer_ids(self) -> tuple[int, ...]:
        """Token id of each answer letter, A first."""

    @property
    def max_tokens(self) -> int:
        """Tokens a prompt may have."""

    def encode(self, user: str, after: str) -> TokenIds:
        """Token ids of the scaffold's beginning, ``user`` as plain text, and ``after``. Any thread."""

    def evaluate(self, prompts: Sequence[Segments], stop: Stop | None = None) -> list[Evaluation]:
        """Next-token logits of each prompt, in order. The engine thread only.

        Raises:
            RequestError: the error of ``stop``, when that is set meanwhile; the engine can be used again at once.
        """


def cut(ids: TokenIds, state_ids: TokenIds) -> Segments:
    """``ids`` cut where they stop being the ids of the state alone.

    The last token of a state can merge with what follows it, so the cut is after the tokens that both have in common.
    """
    size = min(len(ids) - 1, len(state_ids))
    differs = np.nonzero(ids[:size] != state_ids[:size])[0]
    at = int(differs[0]) if differs.size else size
    return Segments(ids[:at], ids[at:])
