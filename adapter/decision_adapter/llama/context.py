"""A llama.cpp context with one sequence, and the batch it is fed with. The engine thread only."""

import ctypes
from enum import Enum
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from decision_adapter.engine import Stop, TokenIds
from decision_adapter.errors import ModelError, ScoringError

BATCH_TOKENS = 512
"""Tokens of one decode at the most."""

FULL_TOKENS = 64
"""On a CPU a decode of fewer tokens takes flash attention's slow way, which gives other bits, and one of a single token
splits its work by the number of threads, which shows in them too. So a last decode that is shorter is filled up."""

CUT_TOKENS = 16
"""Kept prefixes end at multiples of this many tokens after the scaffold, where the kernels allow it: what follows the
last cut of a state is decoded again for each question. Kernels work on up to as many rows at once, so their rests are
the same wherever a decode begins."""

CELL_BLOCK = 256
"""llama.cpp gives a sequence memory in multiples of this many tokens."""

SEQUENCE = 0

_REST_TOKENS = 29
"""Tokens of a state or a question that fill no block; a prime, so that no kernel's tile divides it."""

FAILURES = {
    1: "no free place in the KV cache",
    2: "aborted",
    -1: "llama.cpp refused the batch",
    -2: "no memory for the compute graph",
    -3: "the compute graph failed",
}
"""What ``llama_decode`` returns when it is not 0; anything else below -1 is fatal too."""

IS_STOPPED = ctypes.cast(ctypes.CDLL(None).strlen, llama_cpp.ggml_abort_callback)
"""The abort callback: C's own strlen, of the flag of a ``Stop``: 0 goes on, 1 aborts.

llama.cpp calls it before every node of the graph, about a thousand times a decode. A Python function would take the
interpreter's lock each time, and wait for it while request threads hold it.
"""


class MemoryKind(Enum):
    """How a model remembers, and which ways back to an earlier position give the bits of a fresh decode.

    `trims`: the end of the sequence can be removed. `restores`: a snapshot of the sequence can be put back.
    A recurrent state has no parts, so nothing can be trimmed from it. A snapshot of a sliding window holds the window
    alone and puts it into other cells, which changes the order of the sums.
    """

    ATTENTION = ("attention", True, True)
    SLIDING_WINDOW = ("sliding window", True, False)
    RECURRENT = ("recurrent", False, True)
    HYBRID = ("hybrid", False, True)

    def __init__(self, title: str, trims: bool, restores: bool) -> None:
        self.title = title
        self.trims = trims
        self.restores = restores

    def describe_reuse(self) -> str:
        """How prefixes are kept, for the log."""
        ways = {"trimming the sequence": self.trims, "snapshots of it": self.restores}
        return "taken up by " + " and ".join(way for way, possible in ways.items() if possible)

    @classmethod
    def of(cls, model: Any) -> "MemoryKind":
        """The kind of `model`."""
        if llama_cpp.llama_model_is_hybrid(model):
            return cls.HYBRID
        if llama_cpp.llama_model_is_recurrent(model):
            return cls.RECURRENT
        return cls.SLIDING_WINDOW if llama_cpp.llama_model_n_swa(model) > 0 else cls.ATTENTION


class Batch:
    """A ``llama_batch`` allocated once, its arrays owned by numpy and filled without a Python loop.

    Every entry of ``seq_id`` points to the same cell, as there is one sequence.
    """

    def __init__(self) -> None:
        self._tokens = np.zeros(BATCH_TOKENS, dtype=np.int32)
        self._positions = np.zeros(BATCH_TOKENS, dtype=np.int32)
        self._outputs = np.zeros(BATCH_TOKENS, dtype=np.int8)
        self._sequence = np.full(1, SEQUENCE, dtype=np.int32)
        self._counts = np.ones(BATCH_TOKENS, dtype=np.int32)
        self._pointers = np.full(BATCH_TOKENS, self._sequence.ctypes.data, dtype=np.uintp)
        self.struct = llama_cpp.llama_batch(
            token=_pointer(self._tokens, ctypes.c_int32),
            pos=_pointer(self._positions, ctypes.c_int32),
            n_seq_id=_pointer(self._counts, ctypes.c_int32),
            seq_id=_pointer(self._pointers, ctypes.POINTER(ctypes.c_int32)),
            logits=_pointer(self._outputs, ctypes.c_int8),
        )

    def fill(self, tokens: TokenIds, position: int, output: int | None, length: int) -> None:
        """Hold ``tokens`` from ``position`` on, the last repeated up to ``length``; logits after number ``output``."""
        count = len(tokens)
        self._tokens[:count] = tokens
        self._tokens[count:length] = tokens[-1]
        self._positions[:length] = np.arange(position, position + length, dtype=np.int32)
        self._outputs[:length] = 0
        if output is not None:
            self._outputs[output] = 1
        self.struct.n_tokens = length


class Context:
    """Memory for one sequence of ``max_tokens``, and decoding into it."""

    def __init__(self, model: Any, max_tokens: int, threads: int, gpu: bool, vocabulary_size: int) -> None:
        """Create the context of ``model``.

        Raises:
            ModelError: llama.cpp cannot create it.
        """
        self.kind = MemoryKind.of(model)
        self._fill_up_to = 1 if gpu else FULL_TOKENS
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_seq_max = 1
        parameters.n_ctx = -(-(max_tokens + FULL_TOKENS) // CELL_BLOCK) * CELL_BLOCK
        parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
        parameters.n_threads = parameters.n_threads_batch = threads
        # A sliding-window model keeps what has left its window, or nothing could be trimmed from it.
        parameters.swa_full = True
        # The fast way to read a long prompt; llama.cpp does without where a model cannot have it.
        parameters.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_AUTO
        self._context = llama_cpp.llama_init_from_model(model, parameters)
        if not self._context:
            raise ModelError(
                f"llama.cpp cannot create a context of {max_tokens} tokens; lower SEMIF_MAX_TOKENS or give the "
                "container more memory"
            )
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = Batch()
        self._stop = Stop()
        self._vocabulary_size = vocabulary_size
        self.reads_in_blocks = not gpu
        """Whether a prefix is read in blocks of 64, which is slower: until ``examine`` has found that longer decodes
        give the same bits."""

    @property
    def cut_tokens(self) -> int:
        """A kept prefix ends after a multiple of this many tokens."""
        return FULL_TOKENS if self.reads_in_blocks else CUT_TOKENS

    def takes_in_one_decode(self, tokens: int) -> bool:
        """Whether that many can be decoded at once, blocks and rest together."""
        return tokens <= BATCH_TOKENS and not self.reads_in_blocks

    def obey(self, stop: Stop) -> None:
        """Let ``stop`` end the decodes from now on."""
        llama_cpp.llama_set_abort_callback(self._context, IS_STOPPED, stop.flag.ctypes.data)
        self._stop = stop  # kept alive: llama.cpp has a bare pointer to its flag

    def clear(self) -> None:
        """Forget everything."""
        llama_cpp.llama_memory_clear(self._memory, False)

    def trim(self, position: int) -> bool:
        """Forget what is at ``position`` and after it; False where this memory cannot."""
        return bool(llama_cpp.llama_memory_seq_rm(self._memory, SEQUENCE, position, -1))

    def snapshot(self) -> NDArray[np.uint8]:
        """The sequence as it is now, for ``restore``: its bytes."""
        size = llama_cpp.llama_state_seq_get_size(self._context, SEQUENCE)
        data = np.empty(size, dtype=np.uint8)
        written = llama_cpp.llama_state_seq_get_data(self._context, _pointer(data, ctypes.c_uint8), size, SEQUENCE)
        if written != size:
            raise ScoringError(f"llama_state_seq_get_data wrote {written} of {size} bytes")
        return data

    def restore(self, snapshot: NDArray[np.uint8]) -> None:
        """Make the sequence what it was when ``snapshot`` was taken.

        Raises:
            ScoringError: llama.cpp could not; the memory is not to be used before a ``clear``.
        """
        self.clear()
        size = snapshot.nbytes
        read = llama_cpp.llama_state_seq_set_data(self._context, _pointer(snapshot, ctypes.c_uint8), size, SEQUENCE)
        if read != size:
            raise ScoringError(f"llama_state_seq_set_data read {read} of {size} bytes")

    def decode(self, tokens: TokenIds, position: int) -> None:
        """Decode ``tokens`` from ``position`` on: the beginning of a prompt, the same in every one.

        Raises:
            ScoringError: llama.cpp could not; of the memory, only what is before ``position`` counts.
            RequestError: the error of the ``Stop`` that was obeyed; the same holds.
        """
        self._decode_pieces(tokens, position, BATCH_TOKENS)

    def decode_blocks(self, tokens: TokenIds, position: int) -> None:
        """Decode ``tokens``, 64 or more and up to a cut, from ``position`` on, in as few decodes as the bits allow.

        Raises:
            ScoringError: llama.cpp could not; of the memory, only what is before ``position`` counts.
            RequestError: the error of the ``Stop`` that was obeyed; the same holds.
        """
        if self.reads_in_blocks:
            self._decode_pieces(tokens, position, FULL_TOKENS)
            return
        rest = len(tokens) % BATCH_TOKENS
        # a rest that is too short to be decoded by itself takes some from the decode before it
        first = len(tokens) - rest - (FULL_TOKENS if 0 < rest < FULL_TOKENS else 0)
        self._decode_pieces(tokens[:first], position, BATCH_TOKENS)
        self._decode_pieces(tokens[first:], position + first, BATCH_TOKENS)

    def decode_last(self, tokens: TokenIds, position: int) -> NDArray[np.float32]:
        """Decode the end of a prompt; logits after its last token: float32, shape (n_vocab,), a copy.

        What is after ``position`` in the memory is then no longer the prompt alone.

        Raises:
            ScoringError: llama.cpp could not; of the memory, only what is before ``position`` counts.
            RequestError: the error of the ``Stop`` that was obeyed; the same holds.
        """
        last = (len(tokens) - 1) // BATCH_TOKENS * BATCH_TOKENS
        self.decode(tokens[:last], position)
        piece = tokens[last:]
        output = len(piece) - 1
        self._decode(piece, position + last, output, max(len(piece), self._fill_up_to))
        row = llama_cpp.llama_get_logits_ith(self._context, output)
        if not row:
            raise ScoringError("llama_get_logits_ith gave no logits")
        return np.ctypeslib.as_array(row, shape=(self._vocabulary_size,)).copy()

    def examine(self) -> None:
        """Find out whether a prompt gives the same bits in one decode as in two, which depends on the kernels.

        What that changes is the speed of what is decoded from then on, and no bit of it. Forgets everything.

        Raises:
            ScoringError: llama.cpp could not decode.
            RequestError: the error of the ``Stop`` that was obeyed.
        """
        first = FULL_TOKENS + CUT_TOKENS
        tokens = np.arange(first + FULL_TOKENS + _REST_TOKENS, dtype=np.int32) % self._vocabulary_size
        try:
            self.clear()
            whole = self.decode_last(tokens, 0)
            self.clear()
            self._decode(tokens[:first], 0, None, first)
            parts = self.decode_last(tokens[first:], first)
        finally:
            self.clear()
        self.reads_in_blocks = not np.array_equal(whole, parts)

    def close(self) -> None:
        """Free the context."""
        llama_cpp.llama_free(self._context)

    def _decode_pieces(self, tokens: TokenIds, position: int, size: int) -> None:
        for start in range(0, len(tokens), size):
            piece = tokens[start : start + size]
            self._decode(piece, position + start, None, len(piece))

    def _decode(self, tokens: TokenIds, position: int, output: int | None, length: int) -> None:
        self._stop.check()  # a GPU backend does not look at the flag in the middle of a graph
        self._batch.fill(tokens, position, output, length)
        result = llama_cpp.llama_decode(self._context, self._batch.struct)
        if result != 0:
            self._stop.check()
            reason = FAILURES.get(result, "a fatal error in llama.cpp")
            raise ScoringError(f"llama_decode of {length} tokens failed with {result}: {reason}")


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))
