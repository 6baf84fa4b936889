"""The algorithm that the engine is measured against: plain llama.cpp calls, nothing kept between decisions.

Memory is cleared and the whole prompt tokenised; it is decoded in chunks of 512, for each of which a batch is allocated
and filled token by token, and the whole row of logits is copied. Questions that share a state are branched by writing
the state's sequence out once and reading it back for each.

Importing this imports the binding: call ``decision_adapter.llama.library.load`` first.
"""

import ctypes
from collections.abc import Sequence

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchmarkError
from benchmarks.measure import common_prefix
from decision_adapter.chat_template import ChatTemplate, scaffold
from decision_adapter.decision import Decision
from decision_adapter.engine import TokenIds
from decision_adapter.prompt import user_text
from decision_adapter.settings import Settings

CHUNK_TOKENS = 512
Logits = NDArray[np.float32]


class Reference:
    """A model and a context with default parameters, but for threads and size, which are the engine's."""

    def __init__(self, settings: Settings) -> None:
        assert settings.gguf_path is not None
        model_parameters = llama_cpp.llama_model_default_params()
        model_parameters.n_gpu_layers = settings.n_gpu_layers
        self.model = llama_cpp.llama_model_load_from_file(str(settings.gguf_path).encode(), model_parameters)
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = settings.max_tokens
        parameters.n_threads = parameters.n_threads_batch = settings.threads
        self.context = llama_cpp.llama_init_from_model(self.model, parameters)
        if not self.context:
            raise BenchmarkError(f"llama.cpp cannot open {settings.gguf_path} with {settings.max_tokens} tokens")
        self.memory = llama_cpp.llama_get_memory(self.context)
        self._vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        self._vocabulary_size: int = llama_cpp.llama_vocab_n_tokens(self._vocabulary)
        self.scaffold = scaffold(self._template())

    def score(self, decisions: Sequence[Decision]) -> list[Logits]:
        """The logits of each decision, float32, shape (n_vocab,)."""
        prompts = [self.encode(decision) for decision in decisions]
        return [self._whole(prompts[0])] if len(prompts) == 1 else self._shared(prompts)

    def encode(self, decision: Decision) -> TokenIds:
        """Token ids of the whole prompt, int32, shape (n_tokens,)."""
        data = f"{self.scaffold.before}{user_text(decision)}{self.scaffold.after}".encode()
        ids = np.empty(len(data) + 8, dtype=np.int32)
        pointer = ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        count = llama_cpp.llama_tokenize(self._vocabulary, data, len(data), pointer, len(ids), True, True)
        if count < 0:
            raise BenchmarkError(f"a prompt of {len(data)} bytes has {-count} tokens")
        return ids[:count]

    def _whole(self, ids: TokenIds) -> Logits:
        llama_cpp.llama_memory_clear(self.memory, True)
        self._decode(ids, 0)
        return self._logits()

    def _shared(self, prompts: Sequence[TokenIds]) -> list[Logits]:
        prefix = prompts[0][: min(common_prefix(prompts[0], other) for other in prompts[1:])]
        llama_cpp.llama_memory_clear(self.memory, True)
        self._decode(prefix, 0)
        size = llama_cpp.llama_state_seq_get_size(self.context, 0)
        state = (ctypes.c_uint8 * size)()
        llama_cpp.llama_state_seq_get_data(self.context, state, size, 0)
        rows = []
        for ids in prompts:
            llama_cpp.llama_memory_seq_rm(self.memory, 0, -1, -1)
            if not llama_cpp.llama_state_seq_set_data(self.context, state, size, 0):
                raise BenchmarkError(f"llama.cpp does not take back a sequence of {size} bytes")
            self._decode(ids[len(prefix) :], len(prefix))
            rows.append(self._logits())
        return rows

    def _decode(self, ids: TokenIds, position: int) -> None:
        for start in range(0, len(ids), CHUNK_TOKENS):
            chunk = ids[start : start + CHUNK_TOKENS].tolist()
            batch = llama_cpp.llama_batch_init(len(chunk), 0, 1)
            try:
                for index, token in enumerate(chunk):
                    batch.token[index] = token
                    batch.pos[index] = position + start + index
                    batch.n_seq_id[index] = 1
                    batch.seq_id[index][0] = 0
                    batch.logits[index] = start + index == len(ids) - 1
                batch.n_tokens = len(chunk)
                result = llama_cpp.llama_decode(self.context, batch)
            finally:
                llama_cpp.llama_batch_free(batch)
            if result:
                raise BenchmarkError(f"llama_decode of {len(chunk)} tokens failed with {result}")

    def _logits(self) -> Logits:
        row = llama_cpp.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(row, shape=(self._vocabulary_size,)).copy()

    def _template(self) -> ChatTemplate:
        source = llama_cpp.llama_model_chat_template(self.model, None)
        if not source:
            raise BenchmarkError("the GGUF holds no chat template")
        ids = {
            "bos_token": llama_cpp.llama_vocab_bos(self._vocabulary),
            "eos_token": llama_cpp.llama_vocab_eos(self._vocabulary),
        }
        texts = {
            name: llama_cpp.llama_vocab_get_text(self._vocabulary, token).decode()
            for name, token in ids.items()
            if token >= 0
        }
        return ChatTemplate(source.decode(), texts, "the GGUF")
