"""The limit, which is a bare ``llama_decode`` of the same new tokens, and how time grows with what is asked."""

import ctypes
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.errors import BenchmarkError
from benchmarks.measure import OURS, Comparison, Decode, Sample
from benchmarks.sides import Remote, Side
from benchmarks.workloads import Desk, Scale
from decision_adapter.decision import MAX_OPTIONS, Decision
from decision_adapter.engine import TokenIds
from decision_adapter.llama import library
from decision_adapter.settings import Settings


class RawDecode:
    """``llama_decode`` of random tokens, with nothing around it: no text, no logits copied, a memory kept in place."""

    def __init__(self, settings: Settings, flash_attention: bool) -> None:
        library.load(settings.lib_dir)
        import llama_cpp  # noqa: PLC0415  # needs the library that was just chosen

        self._llama: Any = llama_cpp
        model_parameters = llama_cpp.llama_model_default_params()
        model_parameters.n_gpu_layers = settings.n_gpu_layers
        model = llama_cpp.llama_model_load_from_file(str(settings.gguf_path).encode(), model_parameters)
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = parameters.n_batch = settings.max_tokens
        parameters.n_threads = parameters.n_threads_batch = settings.threads
        parameters.flash_attn_type = int(flash_attention)  # LLAMA_FLASH_ATTN_TYPE_DISABLED, _ENABLED
        self._context = llama_cpp.llama_init_from_model(model, parameters)
        if not self._context:
            raise BenchmarkError(f"llama.cpp cannot create a context of {settings.max_tokens} tokens")
        self._memory = llama_cpp.llama_get_memory(self._context)
        vocabulary_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        self._tokens = np.random.default_rng(8).integers(0, vocabulary_size, settings.max_tokens, dtype=np.int32)
        self._held = 0
        self._decode(16)  # the first decode of a context is slower

    def seconds(self, decodes: Sequence[Decode]) -> float:
        """Time of the decodes in order; what stands before each is brought into memory outside of that time."""
        total = 0.0
        for decode in decodes:
            self._hold(decode.past)
            started = time.perf_counter()
            self._decode(decode.new)
            total += time.perf_counter() - started
        return total

    def _hold(self, count: int) -> None:
        if self._held > count:
            if self._llama.llama_memory_seq_rm(self._memory, 0, count, -1):
                self._held = count
            else:  # a recurrent memory gives up all or nothing
                self._llama.llama_memory_clear(self._memory, False)
                self._held = 0
        if self._held < count:
            self._decode(count - self._held)

    def _decode(self, count: int) -> None:
        piece: TokenIds = self._tokens[:count]
        batch = self._llama.llama_batch_get_one(piece.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)), count)
        result = self._llama.llama_decode(self._context, batch)
        if result:
            raise BenchmarkError(f"a bare llama_decode of {count} tokens failed with {result}")
        self._llama.llama_synchronize(self._context)
        self._held += count


@dataclass(frozen=True)
class Limit:
    """Tokens a second of a row, for the decision with the median time."""

    row: str
    new_tokens: int
    ours: float
    raw: float
    """Of the faster of flash attention on and off."""
    flash_attention: bool
    """Whether that was the one with it on."""


@dataclass(frozen=True)
class Point:
    """One size of what grows, and the median time of a request of that size about a state never seen before."""

    size: int
    tokens: int
    """Of all prompts of the request together."""
    seconds: float


def limits(settings: Settings, comparisons: dict[str, Comparison]) -> list[Limit]:
    """Ours against bare decodes of the same new tokens, for each compared row."""
    samples = {row: comparison.middle() for row, comparison in comparisons.items()}
    with_flash, without = (_raw_seconds(settings, flash, samples) for flash in (True, False))
    return [
        Limit(
            row=row,
            new_tokens=sample.new_tokens,
            ours=sample.new_tokens / sample.seconds[OURS],
            raw=sample.new_tokens / min(with_flash[row], without[row]),
            flash_attention=with_flash[row] < without[row],
        )
        for row, sample in samples.items()
    ]


def _raw_seconds(settings: Settings, flash_attention: bool, samples: dict[str, Sample]) -> dict[str, float]:
    remote = Remote(RawDecode, settings, flash_attention)
    try:
        return {row: remote.call("seconds", sample.decodes) for row, sample in samples.items()}
    finally:
        remote.close()


def curves(scale: Scale, ours: Side) -> Iterator[tuple[str, list[Point]]]:
    """What grows, and its points."""
    desk = Desk(9)

    def tokens(size: int) -> list[Decision]:
        return [desk.decision(desk.state(size))]

    def questions(size: int) -> list[Decision]:
        state = desk.state(scale.curve_state_tokens)
        return [desk.decision(state) for _ in range(size)]

    def options(size: int) -> list[Decision]:
        return [desk.decision(desk.state(scale.curve_state_tokens), options=size)]

    option_counts = [count for count in scale.curve_options if count <= MAX_OPTIONS]
    yield "tokens of the prompt", [_point(ours, scale, size, tokens) for size in scale.curve_tokens]
    yield "questions about one state", [_point(ours, scale, size, questions) for size in scale.curve_questions]
    yield "options of a question", [_point(ours, scale, size, options) for size in option_counts]


def _point(ours: Side, scale: Scale, size: int, make: Callable[[int], list[Decision]]) -> Point:
    answers = [ours.score(make(size)) for _ in range(scale.curve_repetitions)]
    seconds = statistics.median(answer.seconds for answer in answers)
    return Point(size, sum(tokens for _, tokens in answers[0].prompts), seconds)
