"""A llama.cpp context with two sequences, and the batch it is fed with. The engine thread only."""

import ctypes
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from decision_adapter.engine import Stop, TokenIds
from decision_adapter.errors import ModelError, ScoringError

BATCH_TOKENS = 512
"""Tokens of one decode. Longer segments are cut at its multiples, so the cuts follow from the segment alone."""

CELL_BLOCK = 256
"""llama.cpp gives a sequence memory in multiples of this many tokens."""

KEPT, BRANCH = 0, 1
"""Sequence ids: the one that holds a state, and the one a question is tried on."""

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


class Batch:
    """A ``llama_batch`` allocated once, its arrays owned by numpy and filled without a Python loop.

    Every entry of ``seq_id`` points to the same cell: a decode belongs to one sequence, so writing that cell is enough.
    """

    def __init__(self) -> None:
        self._tokens = np.zeros(BATCH_TOKENS, dtype=np.int32)
        self._positions = np.zeros(BATCH_TOKENS, dtype=np.int32)
        self._outputs = np.zeros(BATCH_TOKENS, dtype=np.int8)
        self._sequence = np.zeros(1, dtype=np.int32)
        self._counts = np.ones(BATCH_TOKENS, dtype=np.int32)
        self._pointers = np.full(BATCH_TOKENS, self._sequence.ctypes.data, dtype=np.uintp)
        self.struct = llama_cpp.llama_batch(
            token=_pointer(self._tokens, ctypes.c_int32),
            pos=_pointer(self._positions, ctypes.c_int32),
            n_seq_id=_pointer(self._counts, ctypes.c_int32),
            seq_id=_pointer(self._pointers, ctypes.POINTER(ctypes.c_int32)),
            logits=_pointer(self._outputs, ctypes.c_int8),
        )

    def fill(self, tokens: TokenIds, position: int, sequence: int, output: bool) -> None:
        """Hold ``tokens`` at positions from ``position`` on; ``output`` asks for the logits after the last one."""
        count = len(tokens)
        self._tokens[:count] = tokens
        self._positions[:count] = np.arange(position, position + count, dtype=np.int32)
        self._sequence[0] = sequence
        self._outputs[:count] = 0
        self._outputs[count - 1] = output
        self.struct.n_tokens = count


class Context:
    """Memory for two sequences of ``max_tokens`` each, and decoding into them."""

    def __init__(self, model: Any, max_tokens: int, threads: int, gpu: bool, vocabulary_size: int) -> None:
        """Create the context of ``model``.

        Raises:
            ModelError: llama.cpp cannot create it.
        """
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_seq_max = 2
        parameters.n_ctx = -(-max_tokens // CELL_BLOCK) * CELL_BLOCK * parameters.n_seq_max
        parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
        parameters.n_threads = parameters.n_threads_batch = threads
        # A memory of its own for each sequence: in a shared one a branch's bits depend on what else is there.
        parameters.kv_unified = False
        # Sequences of a sliding-window model can only be copied whole.
        parameters.swa_full = True
        # On a CPU flash attention is slow for short decodes, and its bits depend on the number of threads.
        parameters.flash_attn_type = (
            llama_cpp.LLAMA_FLASH_ATTN_TYPE_AUTO if gpu else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        self._context = llama_cpp.llama_init_from_model(model, parameters)
        if not self._context:
            raise ModelError(
                f"llama.cpp cannot create a context of 2 x {max_tokens} tokens; lower SEMIF_MAX_TOKENS or give the "
                "container more memory"
            )
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = Batch()
        self._stop = Stop()
        self._vocabulary_size = vocabulary_size

    def obey(self, stop: Stop) -> None:
        """Let ``stop`` end the decodes from now on."""
        llama_cpp.llama_set_abort_callback(self._context, IS_STOPPED, stop.flag.ctypes.data)
        self._stop = stop  # kept alive: llama.cpp has a bare pointer to its flag

    def clear(self) -> None:
        """Forget both sequences."""
        llama_cpp.llama_memory_clear(self._memory, False)

    def branch(self) -> None:
        """Make the branch a copy of the kept sequence. The copy itself happens in the next decode."""
        llama_cpp.llama_memory_seq_rm(self._memory, BRANCH, -1, -1)
        llama_cpp.llama_memory_seq_cp(self._memory, KEPT, BRANCH, -1, -1)

    def decode(self, tokens: TokenIds, position: int, sequence: int, output: bool) -> None:
        """Decode ``tokens`` into ``sequence`` from ``position`` on; ``output`` makes ``logits`` theirs.

        Raises:
            ScoringError: llama.cpp could not.
            RequestError: the error of the ``Stop`` that was obeyed. After either, ``clear`` before anything else.
        """
        for start in range(0, len(tokens), BATCH_TOKENS):
            self._stop.check()  # a GPU backend does not look at the flag in the middle of a graph
            piece = tokens[start : start + BATCH_TOKENS]
            last = start + len(piece) == len(tokens)
            self._batch.fill(piece, position + start, sequence, output and last)
            result = llama_cpp.llama_decode(self._context, self._batch.struct)
            if result != 0:
                self._stop.check()
                reason = FAILURES.get(result, "a fatal error in llama.cpp")
                raise ScoringError(f"llama_decode of {len(piece)} tokens failed with {result}: {reason}")

    def logits(self) -> NDArray[np.float32]:
        """Logits after the last token of the last decode that asked for them: float32, shape (n_vocab,), a copy."""
        row = llama_cpp.llama_get_logits_ith(self._context, -1)
        if not row:
            raise ScoringError("llama_get_logits_ith gave no logits")
        return np.ctypeslib.as_array(row, shape=(self._vocabulary_size,)).copy()

    def close(self) -> None:
        """Free the context."""
        llama_cpp.llama_free(self._context)


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))
