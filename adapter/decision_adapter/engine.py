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
    """A prompt in the two pieces that questions over one state tell apart."""

    prefix: TokenIds
    """Scaffold and state; the same for every question about the state."""
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
    """Time to bring the memory to the prompt's last cut; next to nothing where an earlier prompt left it there."""
    suffix_seconds: float
    """Time to decode what follows."""
    reused_tokens: int = 0
    """Tokens of the prompt that were not decoded, because they were kept."""


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


class Tokenizer(Protocol):
    """A model's vocabulary. Any thread."""

    def encode(self, before: str, user: str, after: str) -> TokenIds:
        """Token ids of the three as one text, ``user`` as plain text, BOS where the model wants it."""

    def tokenize(self, text: str, parse_special: bool) -> TokenIds:
        """Token ids of ``text`` and nothing else, control tokens only when ``parse_special``."""

    def piece(self, token: int) -> str:
        """What ``token`` adds to a text."""


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

    def examine(self, stop: Stop | None = None) -> None:
        """Find out how to be faster from now on, with the same bits. The engine thread only.

        Raises:
            RequestError: it could not, or ``stop`` was set; everything goes on as before.
        """


def cut(ids: TokenIds, state_ids: TokenIds) -> Segments:
    """``ids`` cut where they stop being the ids of the state alone.

    The last token of a state can merge with what follows it, so the cut is after the tokens that both have in common.
    """
    at = common_prefix(ids[:-1], state_ids)
    return Segments(ids[:at], ids[at:])


def common_prefix(one: TokenIds, other: TokenIds) -> int:
    """How many tokens both begin with."""
    size = min(len(one), len(other))
    differs = np.nonzero(one[:size] != other[:size])[0]
    return int(differs[0]) if differs.size else size
