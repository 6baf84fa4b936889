"""Text to token ids, with callers' text kept text."""

import ctypes
from typing import Any

import llama_cpp
import numpy as np

from decision_adapter.engine import TokenIds
from decision_adapter.errors import ModelError, ScoringError
from decision_adapter.prompt import LETTERS, Scaffold

CONTROL = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
"""Attributes of the tokens that llama.cpp only makes out of text when ``parse_special`` is on."""


class Vocabulary:
    """The tokens of a model. Every method may be called from any thread: llama.cpp only reads the vocabulary.

    How a caller's text stays text: a prompt is first tokenised whole, with special tokens parsed. If that gives no more
    control tokens than the template's own text, the caller's part held none, and these ids are the answer: those of
    tokenising the whole prompt at once, by construction. If it gives more, the caller's text spelled some. Then the
    template is cut at its own control tokens nearest to the caller's text, and what stands between the cuts is
    tokenised with special tokens off. llama.cpp splits at control tokens before it does anything else, so that cut
    changes no other token.
    """

    def __init__(self, vocab: Any) -> None:
        self._vocab = vocab
        self.size: int = llama_cpp.llama_vocab_n_tokens(vocab)
        control = [bool(llama_cpp.llama_vocab_get_attr(vocab, token) & CONTROL) for token in range(self.size)]
        self._is_control = np.array(control)
        self._control_texts = [self.text(token) for token in np.nonzero(self._is_control)[0].tolist()]
        self._bos: int | None = llama_cpp.llama_vocab_bos(vocab) if llama_cpp.llama_vocab_get_add_bos(vocab) else None

    def text(self, token: int) -> str:
        """The text ``token`` is written as in the vocabulary."""
        text: bytes = llama_cpp.llama_vocab_get_text(self._vocab, token)
        return text.decode("utf-8", "replace")

    def piece(self, token: int) -> str:
        """What ``token`` adds to a text."""
        room = ctypes.create_string_buffer(256)
        size = llama_cpp.llama_token_to_piece(self._vocab, token, room, len(room), 0, True)
        return room.raw[: max(size, 0)].decode("utf-8", "replace")

    def special_tokens(self) -> dict[str, str]:
        """``bos_token`` and ``eos_token`` to their text, those that the model has."""
        ids = {
            "bos_token": llama_cpp.llama_vocab_bos(self._vocab),
            "eos_token": llama_cpp.llama_vocab_eos(self._vocab),
        }
        return {name: self.text(token) for name, token in ids.items() if token >= 0}

    def encode(self, before: str, user: str, after: str) -> TokenIds:
        """Token ids of ``before + user + after``, BOS exactly once where the model wants it, ``user`` as plain text."""
        whole = self.tokenize(before + user + after, parse_special=True)
        own = self._count_control(before) + self._count_control(after)
        if np.count_nonzero(self._is_control[whole]) == own:
            return self._with_bos(whole)
        return self._with_bos(self.encode_in_parts(before, user, after))

    def encode_in_parts(self, before: str, user: str, after: str) -> TokenIds:
        """Token ids with ``user`` and the template's plain text around it tokenised without special tokens; no BOS."""
        head = max((before.rfind(text) + len(text) for text in self._control_texts if text in before), default=0)
        tail = min((after.find(text) for text in self._control_texts if text in after), default=len(after))
        return np.concatenate(
            [
                self.tokenize(before[:head], parse_special=True),
                self.tokenize(before[head:] + user + after[:tail], parse_special=False),
                self.tokenize(after[tail:], parse_special=True),
            ]
        )

    def answer_ids(self, scaffold: Scaffold) -> tuple[int, ...]:
        """Token id of each answer letter where it would be answered: right after the generation prompt.

        Raises:
            ModelError: a letter is not a token of its own there.
        """
        ids: list[int] = []
        for letter in LETTERS:
            token = int(self.tokenize(scaffold.after + letter, parse_special=True)[-1])
            if self.piece(token) != letter:
                raise ModelError(
                    f"the answer letter {letter} is not a token of its own after the generation prompt, but part of "
                    f"{self.piece(token)!r}; this model and chat template cannot be read with the prompt profile"
                )
            ids.append(token)
        return tuple(ids)

    def tokenize(self, text: str, parse_special: bool) -> TokenIds:
        """Token ids of ``text``, int32, shape (n_tokens,); nothing is added to it.

        Raises:
            ScoringError: llama.cpp cannot tokenise it.
        """
        data = text.encode("utf-8")
        room = len(data) + 8
        for _ in range(2):  # a tokenizer that writes more tokens than bytes says how many, and gets them
            ids = np.empty(room, dtype=np.int32)
            pointer = ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
            count = llama_cpp.llama_tokenize(self._vocab, data, len(data), pointer, room, False, parse_special)
            if count >= 0:
                return ids[:count]
            room = -count
        raise ScoringError(f"llama_tokenize failed with {count} for a text of {len(data)} bytes")

    def _count_control(self, text: str) -> int:
        return int(np.count_nonzero(self._is_control[self.tokenize(text, parse_special=True)]))

    def _with_bos(self, ids: TokenIds) -> TokenIds:
        if self._bos is None or (ids.size and ids[0] == self._bos):
            return ids
        return np.concatenate([np.array([self._bos], dtype=np.int32), ids])
