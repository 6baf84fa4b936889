"""Kept prefixes: bringing the memory to a prompt's last cut while decoding only what was not decoded before.

Two places keep them. The sequence itself still holds the prompt before, and where the memory can be trimmed it goes
back to the last cut that both prompts share. Snapshots of the sequence hold the states before that, least recently
used first out, and the scaffold for good. Neither changes a bit of the result: a prefix is only taken up at a cut, and
no decode after the scaffold is so short that its bits are others; see docs/engine.md.
"""

from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from decision_adapter.engine import TokenIds, common_prefix
from decision_adapter.errors import ScoringError
from decision_adapter.llama.context import FULL_TOKENS, Context

_NOTHING = np.array([], dtype=np.int32)


@dataclass(frozen=True)
class Snapshot:
    """A copy of the sequence."""

    tokens: int
    data: NDArray[np.uint8]


class Prefixes:
    """The prefixes kept for one context. The engine thread only."""

    def __init__(self, context: Context, scaffold: TokenIds, cache_tokens: int) -> None:
        """Keep up to ``cache_tokens`` tokens of states in snapshots; ``scaffold`` is what every prompt begins with."""
        self._context = context
        self._scaffold = scaffold
        self._scaffold_snapshot: Snapshot | None = None
        self._snapshots: LRUCache[bytes, Snapshot] = LRUCache(cache_tokens, getsizeof=lambda kept: kept.tokens)
        self._held = _NOTHING

    def cuts(self, prefix: TokenIds) -> range:
        """Where a kept prefix of a prompt may end; a function of the prompt alone."""
        size = len(self._scaffold)
        return range(size if self._is_scaffold(prefix[:size]) else 0, len(prefix) + 1, self._context.cut_tokens)

    def reach(self, prefix: TokenIds, prompt_tokens: int) -> tuple[int, int]:
        """Bring the memory to where the last decode of a prompt begins; that cut, and how many tokens were kept.

        The prompt has ``prompt_tokens`` in all, of which ``prefix`` is the beginning. Where the memory can be trimmed
        and all that is left fits in one decode, it is left to that one; else that begins at the prefix's last cut.

        Raises:
            ScoringError: llama.cpp could not decode; the next call begins from nothing.
            RequestError: it was stopped; the same holds.
        """
        cuts = self.cuts(prefix)
        reused = position = self._resume(prefix, cuts)
        if position < cuts[0]:
            self._context.decode(prefix[: cuts[0]], 0)
            position = cuts[0]
            self._keep(prefix[:position])
        trims = self._context.kind.trims
        at_once = trims and self._context.takes_in_one_decode(prompt_tokens - position)
        if cuts[-1] - position >= FULL_TOKENS and not at_once:
            self._context.decode_blocks(prefix[position : cuts[-1]], position)
            position = cuts[-1]
            # what can be trimmed is kept when another state takes its place: most are asked about again before
            if not trims:
                self._keep(prefix[:position])
        return position, reused

    def hold(self, prefix: TokenIds) -> None:
        """Remember that the sequence holds ``prefix`` up to its last cut, now that the last decode has gone well."""
        self._held = prefix[: self.cuts(prefix)[-1]] if self._context.kind.trims else _NOTHING

    def forget_held(self) -> None:
        """Take note that the sequence was used for something else; snapshots stay."""
        self._held = _NOTHING

    def _resume(self, prefix: TokenIds, cuts: range) -> int:
        """Go back to the longest kept prefix; its length. Until the caller is done, nothing counts as held."""
        held, self._held = self._held, _NOTHING
        shared = common_prefix(held, prefix)
        trims = self._context.kind.trims
        if trims and shared < len(held) and self._context.trim(len(held)):
            self._keep(held)
        in_place = _last(cuts, shared) if trims else 0
        cut, snapshot = self._longest_snapshot(prefix, cuts)
        if 0 < in_place >= cut and self._context.trim(in_place):
            return in_place
        if snapshot is None:
            self._context.clear()
            return 0
        self._context.restore(snapshot.data)
        if cut < snapshot.tokens and not self._context.trim(cut):
            raise ScoringError(f"llama.cpp cannot trim a sequence of {snapshot.tokens} tokens to {cut}")
        return cut

    def _longest_snapshot(self, prefix: TokenIds, cuts: range) -> tuple[int, Snapshot | None]:
        """The snapshot that goes furthest, and up to which cut of ``prefix``: its end, or before it after a trim."""
        best, furthest = 0, b""
        for key in self._snapshots:  # going through the keys does not count as using them
            ids = np.frombuffer(key, dtype=np.int32)
            shared = common_prefix(ids, prefix)
            usable = _last(cuts, shared) if self._context.kind.trims or shared == len(ids) else 0
            if usable > best:
                best, furthest = usable, key
        if best > cuts[0]:
            return best, self._snapshots[furthest]
        return (cuts[0], self._scaffold_snapshot) if self._scaffold_snapshot and cuts[0] else (0, None)

    def _keep(self, prefix: TokenIds) -> None:
        """Take a snapshot of the sequence, which holds ``prefix`` and nothing else, unless there is one."""
        if not self._context.kind.restores or len(prefix) == 0:
            return
        if self._is_scaffold(prefix):
            if self._scaffold_snapshot is None:
                self._scaffold_snapshot = Snapshot(len(prefix), self._context.snapshot())
        elif len(prefix) <= self._snapshots.maxsize and prefix.tobytes() not in self._snapshots:
            self._snapshots[prefix.tobytes()] = Snapshot(len(prefix), self._context.snapshot())

    def _is_scaffold(self, prefix: TokenIds) -> bool:
        return 0 < len(prefix) == len(self._scaffold) and np.array_equal(prefix, self._scaffold)


def _last(cuts: range, position: int) -> int:
    """The last cut that is not after ``position``; 0 when all are."""
    return max((cut for cut in cuts if cut <= position), default=0)
