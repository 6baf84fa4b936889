"""Labels: the single tokens a model answers with, chosen once for a vocabulary."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_uppercase

from decision_adapter.decision import MAX_OPTIONS
from decision_adapter.engine import Tokenizer

CANDIDATES = (*ascii_uppercase, *(first + second for first in ascii_uppercase for second in ascii_uppercase))
"""A to Z, then AA to ZZ: what a label can be, in the order in which they are given to options."""


@dataclass(frozen=True)
class Labels:
    """Labels in the order in which options get them, each one token of its own."""

    texts: tuple[str, ...]
    ids: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def sha256(self) -> str:
        """SHA-256, in hex, of the texts and ids: ``A 32``, ``B 33``, …, a line each."""
        lines = "".join(f"{text} {token}\n" for text, token in zip(self.texts, self.ids, strict=True))
        return hashlib.sha256(lines.encode()).hexdigest()


def after(tokenizer: Tokenizer, context: str) -> Labels:
    """The first candidates that are one token right after ``context``, ``MAX_OPTIONS`` at most."""

    def token_of(text: str) -> int | None:
        # Only the last token counts: with a label behind them, two line breaks can be two tokens instead of one.
        last = int(tokenizer.tokenize(context + text, parse_special=True)[-1])
        return last if tokenizer.piece(last) == text else None

    return _first(token_of)


def alone(tokenizer: Tokenizer) -> Labels:
    """The first candidates that are one token when tokenised by themselves, ``MAX_OPTIONS`` at most."""

    def token_of(text: str) -> int | None:
        ids = tokenizer.tokenize(text, parse_special=False).tolist()
        return ids[0] if len(ids) == 1 and tokenizer.piece(ids[0]) == text else None

    return _first(token_of)


def _first(token_of: Callable[[str], int | None]) -> Labels:
    # Two labels cannot share a token: a token's piece is the label it stands for.
    found = [(text, token) for text in CANDIDATES if (token := token_of(text)) is not None][:MAX_OPTIONS]
    return Labels(tuple(text for text, _ in found), tuple(token for _, token in found))
