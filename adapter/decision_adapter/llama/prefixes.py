"""Kept prefixes: bringing the memory to a prompt's last cut while decoding only what was not decoded before.

Two places keep them. The sequence itself still holds the prompt before, and where the memory can be trimmed it goes
back to the last cut that both prompts share. Snapshots of the sequence hold the states before that, least recently
used first out, and the scaffold for good. Neither changes a bit of the result: a prefix is only taken up at a cut of
the prompt, and a position is reached by the same decodes in every prompt that is cut there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from decision_adapter.engine import TokenIds, boundaries, common_prefix
from decision_adapter.llama.context import Context

BLOCKS = (256, 64)
"""Lengths of the blocks a state is decoded in. Long ones are fast, short ones leave little to decode again when a state
grows or another question is asked about it; see docs/engine.md for what was measured."""

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
        self._held, self._held_cuts = _NOTHING, list[int]()

    def cuts(self, prefix: TokenIds) -> list[int]:
        """Where a prompt with this prefix is cut; a function of the prefix alone."""
        size = len(self._scaffold)
        return boundaries(size if self._is_scaffold(prefix[:size]) else 0, len(prefix), BLOCKS)

    def reach(self, prefix: TokenIds) -> tuple[int, int]:
        """Bring the memory to the last cut of ``prefix``; that position, and how many tokens were not decoded for it.

        Raises:
            ScoringError: llama.cpp could not decode; the next call begins from nothing.
        """
        cuts = self.cuts(prefix)
        reused = self._resume(prefix, cuts)
        big = [cut for cut in cuts if (cut - cuts[0]) % BLOCKS[0] == 0][-1]
        for start, end in pairwise([reused, *(cut for cut in cuts if cut > reused)]):
            self._context.decode(prefix[start:end], start)
            if end in (cuts[0], big, cuts[-1]):
                self._keep(prefix[:end])
        self._held, self._held_cuts = prefix[: cuts[-1]], cuts
        return cuts[-1], reused

    def _resume(self, prefix: TokenIds, cuts: Sequence[int]) -> int:
        """Go back to the longest kept prefix; its length. Until the caller is done, nothing counts as held."""
        held, held_cuts = self._held, self._held_cuts
        self._held, self._held_cuts = _NOTHING, []
        shared = common_prefix(held, prefix)
        in_place = max((cut for cut in cuts if cut <= shared and cut in held_cuts), default=0)
        for cut in reversed(cuts):
            if cut and cut == in_place and self._context.kind.trims and self._context.trim(cut):
                return cut
            snapshot = self._find(prefix[:cut])
            if snapshot is not None:
                self._context.restore(snapshot.data)
                return cut
        self._context.clear()
        return 0

    def _find(self, prefix: TokenIds) -> Snapshot | None:
        return self._scaffold_snapshot if self._is_scaffold(prefix) else self._snapshots.get(prefix.tobytes())

    def _keep(self, prefix: TokenIds) -> None:
        if not self._context.kind.restores:
            return
        if self._is_scaffold(prefix):
            self._scaffold_snapshot = Snapshot(len(prefix), self._context.snapshot())
        elif len(prefix) <= self._snapshots.maxsize:
            self._snapshots[prefix.tobytes()] = Snapshot(len(prefix), self._context.snapshot())

    def _is_scaffold(self, prefix: TokenIds) -> bool:
        return len(prefix) == len(self._scaffold) and np.array_equal(prefix, self._scaffold)
