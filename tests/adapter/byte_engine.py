"""A vocabulary of bytes and letter pairs, and an engine on it whose logits follow from every bit of a prompt."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from decision_adapter.chat_template import ChatTemplate
from decision_adapter.engine import Evaluation, Segments, Stop, TokenIds
from decision_adapter.prompt import LETTERS, Scaffold

FIRST_PAIR = 256


class ByteTokenizer:
    """One token a byte, and one for each of ``pairs``; there are no control tokens and no BOS."""

    def __init__(self, pairs: Sequence[str] = ()) -> None:
        self._pairs = list(pairs)
        self._ids = {pair: FIRST_PAIR + index for index, pair in enumerate(pairs)}
        self.size = FIRST_PAIR + len(pairs)

    def encode(self, before: str, user: str, after: str) -> TokenIds:
        return self.tokenize(before + user + after, parse_special=True)

    def tokenize(self, text: str, parse_special: bool) -> TokenIds:
        ids: list[int] = []
        at = 0
        while at < len(text):
            pair = text[at : at + 2]
            if pair in self._ids:
                ids.append(self._ids[pair])
            else:
                pair = text[at]
                ids += pair.encode()
            at += len(pair)
        return np.array(ids, dtype=np.int32)

    def piece(self, token: int) -> str:
        return bytes([token]).decode("latin-1") if token < FIRST_PAIR else self._pairs[token - FIRST_PAIR]

    def text(self, ids: Sequence[int]) -> str:
        pieces = [bytes([i]) if i < FIRST_PAIR else self._pairs[i - FIRST_PAIR].encode() for i in ids]
        return b"".join(pieces).decode("utf-8", "replace")


def from_every_bit(ids: TokenIds, size: int) -> NDArray[np.float32]:
    """Logits that look random and are the same only for the same prompt."""
    seed = int.from_bytes(hashlib.sha256(ids.tobytes()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(0, 3, size).astype(np.float32)


class ByteEngine:
    """Gives what ``logits`` makes of a prompt's ids and the size of the vocabulary."""

    scaffold = Scaffold("<", ">")
    answer_ids = tuple(LETTERS.encode())
    max_tokens = 100_000
    template = ChatTemplate("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[reply]", {}, "a test")

    def __init__(
        self, logits: Callable[[TokenIds, int], NDArray[np.float32]] = from_every_bit, pairs: Sequence[str] = ()
    ) -> None:
        self._logits = logits
        self.vocabulary = ByteTokenizer(pairs)
        self.prompts: list[str] = []

    def encode(self, user: str, after: str) -> TokenIds:
        return self.vocabulary.encode(self.scaffold.before, user, after)

    def evaluate(self, prompts: Sequence[Segments], stop: Stop | None = None) -> list[Evaluation]:
        whole = [np.concatenate([prompt.prefix, prompt.suffix]) for prompt in prompts]
        self.prompts += [self.vocabulary.text(ids.tolist()) for ids in whole]
        return [Evaluation(self._logits(ids, self.vocabulary.size), 0.5, 0.25) for ids in whole]

    def examine(self, stop: Stop | None = None) -> None:
        """There is nothing to find out."""
