"""The same bits, however a prompt comes to be scored."""

import numpy as np
import pytest

from decision_adapter.chat_template import ChatTemplate
from decision_adapter.engine import Segments
from decision_adapter.errors import ModelError, ScoringError
from decision_adapter.llama.context import BATCH_TOKENS
from decision_adapter.llama.engine import LlamaEngine


def ids(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(100, 40_000, count, dtype=np.int32)


STATE = ids(1, 150)
OTHER = ids(2, 70)
QUESTIONS = [ids(10 + index, size) for index, size in enumerate((20, 41, 33))]
PROMPTS = [Segments(STATE, question) for question in QUESTIONS]


@pytest.fixture(scope="module")
def alone(engine: LlamaEngine) -> list[np.ndarray]:
    """Logits of each prompt scored by itself."""
    return [engine.evaluate([prompt])[0].logits for prompt in PROMPTS]


def test_questions_over_one_state_give_the_bits_of_each_alone(engine: LlamaEngine, alone: list[np.ndarray]) -> None:
    together = engine.evaluate(PROMPTS)
    for evaluation, logits in zip(together, alone, strict=True):
        assert np.array_equal(evaluation.logits, logits)


def test_a_state_longer_than_a_batch_is_cut_the_same_way_each_time(engine: LlamaEngine) -> None:
    prompts = [Segments(ids(5, BATCH_TOKENS + 50), question) for question in QUESTIONS[:2]]
    together = engine.evaluate(prompts)
    assert np.array_equal(together[1].logits, engine.evaluate(prompts[1:])[0].logits)


def test_order_and_other_states_do_not_matter(engine: LlamaEngine, alone: list[np.ndarray]) -> None:
    mixed = [PROMPTS[2], Segments(OTHER, QUESTIONS[0]), PROMPTS[0], PROMPTS[2]]
    evaluations = engine.evaluate(mixed)
    assert np.array_equal(evaluations[0].logits, alone[2])
    assert np.array_equal(evaluations[2].logits, alone[0])
    assert np.array_equal(evaluations[3].logits, alone[2])
    assert not np.array_equal(evaluations[1].logits, alone[0])


def test_a_shared_state_is_decoded_once(engine: LlamaEngine) -> None:
    # given a state the engine has not seen
    state = ids(30, 150)
    # when three questions are asked about it
    reused = [one.reused_tokens for one in engine.evaluate([Segments(state, question) for question in QUESTIONS])]
    # then it is decoded up to its last cut for the first one
    assert reused == [0, 144, 144]


def test_logits_are_one_row_of_the_vocabulary_and_stay(engine: LlamaEngine, alone: list[np.ndarray]) -> None:
    row = engine.evaluate(PROMPTS[:1])[0].logits
    engine.evaluate(PROMPTS[1:])
    assert row.shape == (engine.vocabulary.size,)
    assert row.dtype == np.float32
    assert np.array_equal(row, alone[0])


def test_an_empty_prefix_is_a_prompt_too(engine: LlamaEngine) -> None:
    nothing = np.array([], dtype=np.int32)
    prompts = [Segments(nothing, OTHER), Segments(nothing, OTHER)]
    first, second = engine.evaluate(prompts)
    assert np.array_equal(first.logits, second.logits)


def test_more_tokens_than_the_memory_holds_are_a_failure_and_the_engine_goes_on(
    engine: LlamaEngine, alone: list[np.ndarray]
) -> None:
    # given a prompt that the limits should have refused
    too_long = Segments(ids(3, engine.max_tokens), ids(4, BATCH_TOKENS))
    # then
    with pytest.raises(ScoringError, match=r"llama_decode of \d+ tokens failed with 1: no free place in the KV cache"):
        engine.evaluate([too_long])
    assert np.array_equal(engine.evaluate(PROMPTS[:1])[0].logits, alone[0])


def test_a_token_that_does_not_exist_is_a_failure(engine: LlamaEngine) -> None:
    with pytest.raises(ScoringError, match=r"failed with -1: llama\.cpp refused the batch"):
        engine._context.decode(np.array([10_000_000], dtype=np.int32), 0)


def test_a_file_that_is_no_model_is_refused(tmp_path, llama_library) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"llama\.cpp cannot load .*m\.gguf"):
        LlamaEngine(path, None, max_tokens=64, threads=1, n_gpu_layers=0)


def test_a_model_that_cannot_answer_in_letters_is_refused(smollm2_gguf, llama_library) -> None:
    # given a template that ends with a space, with which a letter becomes one token
    template = ChatTemplate("{{ messages[1].content }} answer: ", {}, "a test")
    engine = LlamaEngine(smollm2_gguf, template, max_tokens=64, threads=1, n_gpu_layers=0)
    with pytest.raises(
        ModelError, match="the answer letter A is not a token of its own after the generation prompt, but part of ' A'"
    ):
        assert engine.answer_ids
    engine.close()


def test_the_context_is_never_longer_than_what_the_model_was_trained_on(smollm2_gguf, llama_library) -> None:
    engine = LlamaEngine(smollm2_gguf, None, max_tokens=1_000_000, threads=1, n_gpu_layers=0)
    assert engine.max_tokens == 8192
    engine.close()
