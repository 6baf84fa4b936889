"""The same bits every time, for every kind of memory: alone, again, shared, in another order, after other states."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from decision_adapter.engine import Segments
from decision_adapter.llama import library
from decision_adapter.llama.context import MemoryKind
from decision_adapter.llama.engine import LlamaEngine
from tests.tiny_models import write_tiny_model

VOCABULARY = 256
MAX_TOKENS = 1500
CACHE_TOKENS = 900  # so few that snapshots are dropped while a test runs


def tokens(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, VOCABULARY, count, dtype=np.int32)


def prompt(engine: LlamaEngine, story: int, length: int, question: tuple[int, int], scaffold: bool = True) -> Segments:
    """A question about the first tokens of a story: prompts about one story share what they have in common."""
    before = engine._prefixes._scaffold if scaffold else np.array([], dtype=np.int32)
    return Segments(np.concatenate([before, tokens(story, 1200)[:length]]), tokens(*question))


class Fresh:
    """Logits of a prompt by an engine that has never seen another, with another number of threads."""

    def __init__(self, gguf: Path) -> None:
        self._gguf = gguf
        self._known: dict[bytes, np.ndarray] = {}

    def logits(self, prompt: Segments) -> np.ndarray:
        key = prompt.prefix.tobytes() + b"|" + prompt.suffix.tobytes()
        if key not in self._known:
            engine = LlamaEngine(self._gguf, None, MAX_TOKENS, threads=2, n_gpu_layers=0, cache_tokens=0)
            self._known[key] = engine.evaluate([prompt])[0].logits
            engine.close()
        return self._known[key]


@pytest.fixture(scope="module")
def used(tiny_gguf: Path, llama_library: library.Library) -> Iterator[LlamaEngine]:
    """An engine that goes from one example to the next with all that it keeps."""
    engine = LlamaEngine(tiny_gguf, None, MAX_TOKENS, threads=1, n_gpu_layers=0, cache_tokens=CACHE_TOKENS)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def fresh(tiny_gguf: Path) -> Fresh:
    return Fresh(tiny_gguf)


lengths = st.one_of(st.sampled_from([0, 1, 63, 64, 65, 255, 256, 257, 320, 512]), st.integers(0, 800))
questions = st.tuples(st.integers(100, 104), st.sampled_from([1, 2, 50, 63, 64, 65, 130, 512, 513]))
requests = st.lists(
    st.tuples(st.integers(0, 2), lengths, st.lists(questions, min_size=1, max_size=3), st.booleans()),
    min_size=1,
    max_size=5,
)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests=requests)
def test_any_sequence_of_requests_gives_the_bits_of_a_fresh_engine(
    used: LlamaEngine, fresh: Fresh, requests: list[tuple[int, int, list[tuple[int, int]], bool]]
) -> None:
    for story, length, asked, scaffold in requests:
        prompts = [prompt(used, story, length, question, scaffold) for question in asked]
        for one, evaluation in zip(prompts, used.evaluate(prompts), strict=True):
            assert np.array_equal(evaluation.logits, fresh.logits(one))


def test_a_growing_state_and_every_question_about_it(used: LlamaEngine, fresh: Fresh) -> None:
    for turn in range(12):
        one = prompt(used, 7, 300 + 37 * turn, (200 + turn, 40))
        assert np.array_equal(used.evaluate([one])[0].logits, fresh.logits(one))


def test_bits_do_not_depend_on_the_number_of_threads(tiny_gguf: Path, fresh: Fresh, llama_library: object) -> None:
    engine = LlamaEngine(tiny_gguf, None, MAX_TOKENS, threads=3, n_gpu_layers=0)
    for length, question in ((0, 1), (100, 20), (700, 65)):
        one = prompt(engine, 1, length, (300, question))
        assert np.array_equal(engine.evaluate([one])[0].logits, fresh.logits(one))
    engine.close()


REUSED = {
    # of a prompt with 300 state tokens: asked about again; grown; after another state
    MemoryKind.ATTENTION: (256, 256, 256),
    MemoryKind.SLIDING_WINDOW: (256, 256, 0),
    MemoryKind.RECURRENT: (256, 256, 256),
    MemoryKind.HYBRID: (256, 256, 256),
}


def test_no_token_of_a_kept_prefix_is_decoded_again(tiny_gguf: Path, llama_library: library.Library) -> None:
    engine = LlamaEngine(tiny_gguf, None, MAX_TOKENS, threads=1, n_gpu_layers=0)
    scaffold = len(engine._prefixes._scaffold)
    first, again, grown, other, back = (
        engine.evaluate([prompt(engine, story, length, (question, 30))])[0].reused_tokens
        for story, length, question in ((1, 300, 1), (1, 300, 2), (1, 340, 3), (2, 300, 4), (1, 300, 5))
    )
    kept = [0 if reused == 0 else reused - scaffold for reused in (again, grown, back)]
    assert first == 0
    assert other == scaffold  # never decoded twice
    expected = REUSED[engine._context.kind]
    assert kept == [expected[0], expected[1], expected[2] if expected[2] else 0]
    engine.close()


@pytest.mark.parametrize("lengths", [(200, 260), (260, 200)])
def test_short_and_long_blocks_of_one_state_are_never_mixed(
    tiny_gguf: Path, llama_library: library.Library, lengths: tuple[int, int]
) -> None:
    # given a state of three short blocks, and one that is the same with its first long block whole, one after the other
    engine = LlamaEngine(tiny_gguf, None, MAX_TOKENS, threads=1, n_gpu_layers=0)
    first, second = (prompt(engine, 1, length, (1, 30)) for length in lengths)
    engine.evaluate([first])
    # then nothing but the scaffold of the one is of use to the other
    assert engine.evaluate([second])[0].reused_tokens == len(engine._prefixes._scaffold)
    engine.close()


def test_the_last_snapshot_used_is_the_last_one_dropped(tmp_path: Path, llama_library: library.Library) -> None:
    # given room for two states of 256 tokens and their scaffold, in a memory that cannot be trimmed
    gguf = write_tiny_model(tmp_path / "m.gguf", "recurrent")
    engine = LlamaEngine(gguf, None, MAX_TOKENS, threads=1, n_gpu_layers=0, cache_tokens=1000)
    scaffold = len(engine._prefixes._scaffold)

    def reused(story: int) -> int:
        return engine.evaluate([prompt(engine, story, 280, (1, 20))])[0].reused_tokens - scaffold

    assert [reused(story) for story in (1, 2, 1, 3, 1, 2)] == [-scaffold, 0, 256, 0, 256, 0]
    engine.close()


def test_a_real_model_gives_the_bits_of_a_fresh_engine(smollm2_gguf: Path, engine: LlamaEngine) -> None:
    # given texts of a real tokenizer's ids: a state, the same again, one that grew, another, and the first once more
    fresh = Fresh(smollm2_gguf)
    for story, length, question in ((1, 90, 30), (1, 90, 41), (1, 200, 30), (2, 300, 66), (1, 90, 30)):
        one = prompt(engine, story, length, (question, question))
        assert np.array_equal(engine.evaluate([one])[0].logits, fresh.logits(one))
