"""Profiles and readouts on SmolLM2: labels that are its tokens, and numbers that are its logits'."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decision_adapter import decider, profile
from decision_adapter.chat_template import ChatTemplate
from decision_adapter.decision import Decision, Option, Readout
from decision_adapter.engine import cut
from decision_adapter.llama.engine import LlamaEngine
from decision_adapter.llama.library import Library
from decision_adapter.readout import read
from decision_adapter.scorer import EngineScorer

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{{ '<|im_start|>assistant\n' }}"
)
LEADING_TO_A_COLON = CHATML + "Answer"


@pytest.fixture(scope="module")
def wide_engine(llama_library: Library, smollm2_gguf: Path) -> Iterator[LlamaEngine]:
    """SmolLM2 with room for 255 options."""
    engine = LlamaEngine(smollm2_gguf, None, max_tokens=4096, threads=1, n_gpu_layers=0)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def hesitant_engine(llama_library: Library, smollm2_gguf: Path) -> Iterator[LlamaEngine]:
    """SmolLM2 with a template after which it would rather say a colon than a label."""
    template = ChatTemplate(LEADING_TO_A_COLON, {}, "a test")
    engine = LlamaEngine(smollm2_gguf, template, max_tokens=768, threads=1, n_gpu_layers=0)
    yield engine
    engine.close()


@pytest.fixture
def scorer_on() -> Iterator[Callable[..., EngineScorer]]:
    made: list[EngineScorer] = []

    def make(engine: LlamaEngine, name: str = "direct-options-v1") -> EngineScorer:
        made.append(EngineScorer(engine, {}, 100_000, 1, profile=profile.build(name, engine)))
        return made[-1]

    yield make
    for scorer in made:
        scorer.close()


def decision(count: int, **fields: Any) -> Decision:
    options = [Option(id=f"o{index}", description=f"x{index}") for index in range(count)]
    return Decision(
        **{"id": "d", "state": "The parcel is at x1.", "question": "Where is it?", "options": options} | fields
    )


def score(scorer: EngineScorer, asked: Decision) -> dict[str, Any]:
    [result] = scorer.score([asked]).results
    return result


@pytest.mark.parametrize("count", [17, 64, 255])
def test_many_options_are_read_from_as_many_single_tokens(
    wide_engine: LlamaEngine, scorer_on: Callable[..., EngineScorer], count: int
) -> None:
    # given
    scorer = scorer_on(wide_engine)
    labels: Any = scorer.metadata()["profiles"][1]["labels"]  # type: ignore[index]
    # when
    result = score(scorer, decision(count))
    # then each label is the token that the model would write it with
    assert result["prompt_version"] == "wide-options-v1"
    pieces = [wide_engine.vocabulary.piece(token) for token in result["answer_token_ids"]]
    assert pieces == labels[:count]
    assert len(set(result["answer_token_ids"])) == count
    after = wide_engine.scaffold.after
    for token, label in zip(result["answer_token_ids"], labels, strict=False):
        assert wide_engine.vocabulary.tokenize(after + label, parse_special=True)[-1] == token
    # and all have a share
    assert len(result["probabilities"]) == count
    assert min(result["probabilities"]) > 0
    assert sum(result["probabilities"]) == pytest.approx(1)


def test_direct_answers_are_what_the_letters_logits_say(
    engine: LlamaEngine, scorer_on: Callable[..., EngineScorer]
) -> None:
    # given a decision evaluated by hand
    asked = decision(16)
    text = profile.user_text(asked)
    ids = engine.encode(str(text), engine.scaffold.after)
    [evaluation] = engine.evaluate([cut(ids, engine.encode(text.state, ""))])
    expected = read(evaluation.logits, engine.answer_ids)
    # when it is scored
    result = score(scorer_on(engine), asked)
    # then every bit is the same
    assert result["prompt_version"] == "direct-options-v1"
    assert result["option_logits"] == expected.option_logits
    assert result["probabilities"] == expected.probabilities
    assert result["answer_token_ids"] == list(engine.answer_ids)


def test_an_averaged_answer_has_the_same_bits_whatever_order_was_sent(
    engine: LlamaEngine, scorer_on: Callable[..., EngineScorer]
) -> None:
    # given
    scorer, asked = scorer_on(engine), decision(6, readout=Readout(order="average"))
    backwards = asked.model_copy(update={"options": asked.options[::-1]})
    # when
    first, second = score(scorer, asked), score(scorer, backwards)
    # then
    assert first["probabilities"] == second["probabilities"][::-1]
    assert first["option_logits"] == second["option_logits"][::-1]
    assert first["orders"] == second["orders"]
    assert first["orders"]["count"] == 4
    assert 0 < first["orders"]["disagreement"] < 1
    # while the plain readout of this model is swayed
    plain = asked.model_copy(update={"readout": Readout()})
    swayed = backwards.model_copy(update={"readout": Readout()})
    assert score(scorer, plain)["probabilities"] != score(scorer, swayed)["probabilities"][::-1]


def test_looking_through_a_preamble_adds_up_what_the_model_says_after_it(
    hesitant_engine: LlamaEngine, scorer_on: Callable[..., EngineScorer]
) -> None:
    # given a model that would say something else first
    scorer, asked = scorer_on(hesitant_engine), decision(3)
    plain = score(scorer, asked)
    assert plain["full_vocab_argmax_is_option"] is False
    # when
    result = score(scorer, asked.model_copy(update={"readout": Readout(preamble="marginal")}))
    # then the sum is that of the texts scored one by one
    text = profile.user_text(asked)
    ids = hesitant_engine.encode(str(text), hesitant_engine.scaffold.after)
    state_ids = hesitant_engine.encode(text.state, "")
    [evaluation] = hesitant_engine.evaluate([cut(ids, state_ids)])
    row = distribution(evaluation.logits)
    labels = list(hesitant_engine.answer_ids[:3])
    total = row[labels]
    likeliest = [token for token in np.argsort(-row, kind="stable").tolist() if token not in labels][:3]
    for token in likeliest:
        [following] = hesitant_engine.evaluate([cut(np.append(ids, np.int32(token)), state_ids)])
        total = total + row[token] * distribution(following.logits)[labels]
    assert [path["token_id"] for path in result["preamble"]["paths"]] == [None, *likeliest]
    assert result["probabilities"] == pytest.approx((total / total.sum()).tolist())
    assert result["allowed_token_mass"] == pytest.approx(total.sum())
    assert result["allowed_token_mass"] > plain["allowed_token_mass"]
    assert result["option_logits"] == plain["option_logits"]


def distribution(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


@pytest.mark.parametrize("name", ["decider-plain", "decider-chat"])
@pytest.mark.parametrize("count", [3, 12])
def test_decider_prompts_are_the_models_own_tokens(
    engine: LlamaEngine, scorer_on: Callable[..., EngineScorer], name: str, count: int
) -> None:
    # given
    scorer, asked = scorer_on(engine, name), decision(count)
    [layout] = profile.build(name, engine).layouts
    # when
    ids, result = layout.render(asked).ids.tolist(), score(scorer, asked)
    # then the pieces of the ids are the text, which starts at once and ends before the label
    text = "".join(engine.vocabulary.piece(token) for token in ids)
    assert "Context:\nThe parcel is at x1.\n\nQuestion: Where is it?\nOptions:\n(A) o0: x0\n(B) o1: x1\n" in text
    assert text.startswith("Context:" if name == "decider-plain" else "<|im_start|>")
    assert text.endswith("Answer: (")
    assert result["prompt_version"] == name
    assert result["model"]["prompt_profile"] == name
    assert [engine.vocabulary.piece(token) for token in result["answer_token_ids"]] == list("ABCDEFGHIJKL")[:count]


def test_the_plain_decider_needs_no_chat_template(
    llama_library: Library, smollm2_gguf: Path, scorer_on: Callable[..., EngineScorer]
) -> None:
    # given a template that cannot carry any prompt
    engine = LlamaEngine(smollm2_gguf, ChatTemplate("{% for %}", {}, "a test"), 256, threads=1, n_gpu_layers=0)
    # then
    assert score(scorer_on(engine, "decider-plain"), decision(2))["probabilities"]
    engine.close()


def test_control_tokens_in_a_deciders_state_are_text(engine: LlamaEngine) -> None:
    ids = decider.plain(engine.vocabulary).render(decision(2, state="a<|im_end|>b")).ids.tolist()
    assert not {1, 2} & set(ids)  # SmolLM2's own
