"""The same bits every time, for every kind of memory: alone, again, shared, in another order, after other states."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from decision_adapter.engine import Segments
from decision_adapter.llama import library
from decision_adapter.llama.context import FULL_TOKENS, Context, MemoryKind
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
    engine.examine()
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


def test_long_decodes_give_the_same_bits_as_blocks_of_64(used: LlamaEngine, fresh: Fresh) -> None:
    # given a used engine that has found out that it may decode as much as it likes at once; a fresh one does not know
    assert not used._context.reads_in_blocks
    # when both read states of many blocks, then
    for story, length in ((4, 130), (5, 600), (6, 1100)):
        one = prompt(used, story, length, (400, 40))
        assert np.array_equal(used.evaluate([one])[0].logits, fresh.logits(one))


def test_finding_that_out_costs_neither_what_is_kept_nor_a_bit(tiny_gguf: Path, fresh: Fresh) -> None:
    # given an engine that has read two states block by block
    engine = LlamaEngine(tiny_gguf, None, MAX_TOKENS, threads=1, n_gpu_layers=0, cache_tokens=CACHE_TOKENS)
    one, other = prompt(engine, 1, 300, (300, 20)), prompt(engine, 2, 300, (300, 20))
    engine.evaluate([one, other])
    # when
    engine.examine()
    # then
    again, anew = engine.evaluate([one, prompt(engine, 2, 340, (340, 30))])
    assert np.array_equal(again.logits, fresh.logits(one))
    assert np.array_equal(anew.logits, fresh.logits(prompt(engine, 2, 340, (340, 30))))
    if engine._context.kind.restores:
        assert again.reused_tokens > 0
    engine.close()


def test_kernels_that_do_not_are_noticed_and_obeyed(
    tiny_gguf: Path, llama_library: library.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a library whose decodes of two blocks and more end in other bits
    decode_last = Context.decode_last

    def other_bits(context: Context, ids: np.ndarray, position: int) -> np.ndarray:
        logits = decode_last(context, ids, position)
        return np.nextafter(logits, np.inf) if len(ids) > 2 * FULL_TOKENS else logits

    monkeypatch.setattr(Context, "decode_last", other_bits)
    engine = LlamaEngine(tiny_gguf, None, MAX_TOKENS, threads=1, n_gpu_layers=0)
    engine.examine()
    assert engine._context.reads_in_blocks
    engine.close()


# how many of a prompt's 300 state tokens are not decoded: asked about again; grown to 340; after another state
REUSED = {
    MemoryKind.ATTENTION: (288, 288, 288),
    MemoryKind.SLIDING_WINDOW: (288, 288, 0),
    MemoryKind.RECURRENT: (288, 288, 288),
    MemoryKind.HYBRID: (288, 288, 288),
}


def test_no_token_before_the_last_cut_is_decoded_again(tiny_gguf: Path, llama_library: library.Library) -> None:
    engine = LlamaEngine(tiny_gguf, None, MAX_TOKENS, threads=1, n_gpu_layers=0)
    engine.examine()
    scaffold = len(engine._prefixes._scaffold)
    first, again, grown, other, back = (
        engine.evaluate([prompt(engine, story, length, (question, 30))])[0].reused_tokens
        for story, length, question in ((1, 300, 1), (1, 300, 2), (1, 340, 3), (2, 300, 4), (1, 300, 5))
    )
    assert (first, other) == (0, scaffold)  # the scaffold is decoded once
    assert tuple(reused - scaffold for reused in (again, grown, back)) == REUSED[engine._context.kind]
    engine.close()


def test_a_state_that_others_have_in_part_is_taken_up_where_they_part(
    tiny_gguf: Path, llama_library: library.Library
) -> None:
    # given two states that share their first 150 tokens
    engine = LlamaEngine(tiny_gguf, None, MAX_TOKENS, threads=1, n_gpu_layers=0)
    engine.examine()
    one = prompt(engine, 1, 300, (1, 30))
    shared = len(engine._prefixes._scaffold) + 150
    other = Segments(np.concatenate([one.prefix[:shared], tokens(2, 150)]), tokens(1, 30))
    engine.evaluate([one])
    # then, where the memory can be trimmed, what they share up to a cut is not decoded again
    expected = 144 if engine._context.kind.trims else 0
    assert engine.evaluate([other])[0].reused_tokens - len(engine._prefixes._scaffold) == expected
    engine.close()


@pytest.mark.parametrize("kind", ["attention", "recurrent"])
def test_the_last_snapshot_used_is_the_last_one_dropped(
    tmp_path: Path, llama_library: library.Library, kind: str
) -> None:
    # given room for two states of 280 tokens and their scaffold
    engine = LlamaEngine(
        write_tiny_model(tmp_path / "m.gguf", kind), None, MAX_TOKENS, threads=1, n_gpu_layers=0, cache_tokens=1000
    )
    engine.examine()
    scaffold = len(engine._prefixes._scaffold)

    def reused(story: int) -> int:
        return engine.evaluate([prompt(engine, story, 280, (1, 20))])[0].reused_tokens - scaffold

    assert [reused(story) for story in (1, 2, 1, 3, 1, 2)] == [-scaffold, 0, 272, 0, 272, 0]
    engine.close()


def test_a_real_model_gives_the_bits_of_a_fresh_engine(smollm2_gguf: Path, engine: LlamaEngine) -> None:
    # given texts of a real tokenizer's ids: a state, the same again, one that grew, another, and the first once more
    fresh = Fresh(smollm2_gguf)
    for story, length, question in ((1, 90, 30), (1, 90, 41), (1, 200, 30), (2, 650, 66), (1, 260, 30)):
        one = prompt(engine, story, length, (question, question))
        assert np.array_equal(engine.evaluate([one])[0].logits, fresh.logits(one))
