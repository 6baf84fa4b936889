"""The readouts as an answer tells them, on engines whose logits are known or follow from every bit of a prompt."""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from decision_adapter import profile
from decision_adapter.calibration import Calibration
from decision_adapter.decision import Decision, Option, Readout
from decision_adapter.errors import InvalidRequestError, ScoringError, TooLargeError
from decision_adapter.scorer import EngineScorer
from tests.adapter.byte_engine import ByteEngine

AVERAGE = Readout(order="average")
MARGINAL = Readout(preamble="marginal")


def decision(*descriptions: str, **fields: Any) -> Decision:
    options = [Option(id=text, description=text) for text in descriptions or ("yes", "no")]
    return Decision(**{"id": "d", "state": "s", "question": "q", "options": options} | fields)


@pytest.fixture(scope="module")
def scorer_on() -> Iterator[Callable[..., EngineScorer]]:
    made: list[EngineScorer] = []

    def make(engine: ByteEngine, max_request_tokens: int = 100_000, **fields: Any) -> EngineScorer:
        prompts = profile.build("direct-options-v1", engine)
        made.append(EngineScorer(engine, {}, max_request_tokens, 1, profile=prompts, **fields))
        return made[-1]

    yield make
    for scorer in made:
        scorer.close()


def weights(**of: float) -> Callable[[Any, int], np.ndarray]:
    """Logits of a prompt by its last character: ``>`` ends every prompt, anything else is a preamble.

    Weights are by character, 0.5 for what is not named.
    """

    def logits(ids: np.ndarray, size: int) -> np.ndarray:
        after = of if ids[-1] == ord(">") else {"A": 1.0, "B": 3.0}
        row = np.full(size, 0.001, dtype=np.float32)
        for character, weight in after.items():
            row[ord(character)] = weight
        return np.log(row)

    return logits


def score(scorer: EngineScorer, asked: Decision) -> dict[str, Any]:
    [result] = scorer.score([asked]).results
    return result


@given(count=strategies.integers(2, 20), rng=strategies.randoms(use_true_random=False), through=strategies.booleans())
@settings(max_examples=40, deadline=None)
def test_no_bit_of_an_averaged_answer_depends_on_the_order_sent(
    scorer_on: Callable[..., EngineScorer], count: int, rng: random.Random, through: bool
) -> None:
    # given a model whose logits change with every bit of a prompt
    scorer = scorer_on(ByteEngine(pairs=["AB", "CD"]))
    readout = Readout(order="average", preamble="marginal" if through else "off")
    names = [f"option {index % 7} {index}" for index in range(count)]
    # when the same options are sent in two orders
    answers = [
        score(scorer, decision(*order, readout=readout)) for order in (names, rng.sample(names, count), sorted(names))
    ]
    # then each option has the same numbers, and the answers are the same otherwise
    for answer in answers:
        of_option = {}
        for field in ("probabilities", "option_logits", "answer_token_ids"):
            of_option[field] = dict(zip(answer["option_ids"], answer.pop(field), strict=True))
        answer["of_option"] = of_option
        for field in ("option_ids", "total_seconds"):
            answer.pop(field)
    assert answers[0] == answers[1] == answers[2]
    assert sum(answers[0]["of_option"]["probabilities"].values()) == pytest.approx(1)


def test_without_averaging_the_same_model_does_depend_on_it(scorer_on: Callable[..., EngineScorer]) -> None:
    scorer = scorer_on(ByteEngine())
    first, second = score(scorer, decision("a", "b")), score(scorer, decision("b", "a"))
    assert first["probabilities"] != second["probabilities"][::-1]


def test_a_bias_for_the_first_place_is_averaged_out_and_reported(scorer_on: Callable[..., EngineScorer]) -> None:
    # given a model for which the first place weighs 8 and the second 2, whatever stands there
    engine = ByteEngine(weights(A=8, B=2))
    # when
    result = score(scorer_on(engine), decision("b", "a", readout=AVERAGE))
    # then both options get a half; each order said 0.8 and 0.2, 0.3 away from that
    assert result["probabilities"] == pytest.approx([0.5, 0.5])
    assert result["option_logits"] == pytest.approx([math.log(4)] * 2)  # the mean of log 8 and log 2
    assert result["orders"]["count"] == 2
    assert result["orders"]["disagreement"] == pytest.approx(0.3)
    assert len(set(result["orders"]["prompt_sha256"])) == 2
    # and the fields of a single prompt are those of the first order, in which a comes first
    assert result["prompt_sha256"] == result["orders"]["prompt_sha256"][0]
    assert result["answer_token_ids"] == [ord("B"), ord("A")]
    assert engine.prompts[0].index('"description": "a"') < engine.prompts[0].index('"description": "b"')
    assert result["readout"] == "next-token-logits+order-average"


def test_a_preamble_is_looked_through(scorer_on: Callable[..., EngineScorer]) -> None:
    # given a model that says * (6 of 10) before a label, then A and B with 1 and 3 of 4
    engine = ByteEngine(weights(A=1, B=1, **{"*": 6}, C=2))
    engine_size = engine.vocabulary.size
    # when
    result = score(scorer_on(engine), decision("a", "b", readout=MARGINAL))
    # then three preambles were tried: *, C (2 of 10) and one of the rest
    ends = [prompt[-1] for prompt in engine.prompts]
    assert ends[:3] == [">", "*", "C"]
    assert len(ends) == 4
    # and P ∝ 0.1 + 0.8 · 1/4 against 0.1 + 0.8 · 3/4, but for the crumbs that the other tokens hold
    assert engine_size == 256
    assert result["probabilities"] == pytest.approx([0.3, 0.7], abs=0.01)
    paths = result["preamble"]["paths"]
    assert [path["token_id"] for path in paths[:3]] == [None, ord("*"), ord("C")]
    assert [path["probability"] for path in paths[:3]] == pytest.approx([1, 0.6, 0.2], abs=0.02)
    assert [path["option_mass"] for path in paths[:3]] == pytest.approx([0.2, 0.6, 0.2], abs=0.05)
    assert result["allowed_token_mass"] == pytest.approx(sum(path["option_mass"] for path in paths))
    assert result["option_logits"] == pytest.approx([0.0, 0.0])
    assert (result["full_vocab_argmax_id"], result["full_vocab_argmax_is_option"]) == (ord("*"), False)
    assert result["forward_seconds"] == pytest.approx(4 * 0.75)
    assert result["readout"] == "next-token-logits+preamble-marginal"


def test_a_label_that_is_likeliest_is_read_at_once(scorer_on: Callable[..., EngineScorer]) -> None:
    engine = ByteEngine(weights(A=9, B=1, **{"*": 5}))
    asked, plain = decision("a", "b", readout=MARGINAL), decision("a", "b")
    scorer = scorer_on(engine)
    result = score(scorer, asked)
    assert len(engine.prompts) == 1
    assert result["preamble"]["paths"] == [
        {"order": 0, "token_id": None, "probability": 1.0, "option_mass": result["allowed_token_mass"]}
    ]
    assert result["probabilities"] == score(scorer, plain)["probabilities"]


def test_by_default_a_preamble_is_only_reported(scorer_on: Callable[..., EngineScorer]) -> None:
    engine = ByteEngine(weights(A=1, B=1, **{"*": 6}))
    result = score(scorer_on(engine), decision("a", "b"))
    assert len(engine.prompts) == 1
    assert result["full_vocab_argmax_is_option"] is False
    assert not {"orders", "preamble"} & set(result)


def test_every_order_looks_through_preambles_of_its_own(scorer_on: Callable[..., EngineScorer]) -> None:
    engine = ByteEngine(weights(A=1, B=1, **{"*": 6}, C=2))
    result = score(scorer_on(engine), decision("a", "b", readout=Readout(order="average", preamble="marginal")))
    assert len(engine.prompts) == 2 + 2 * 3
    assert [path["order"] for path in result["preamble"]["paths"]] == [0] * 4 + [1] * 4
    assert result["probabilities"] == pytest.approx([0.5, 0.5])


def test_decisions_of_one_request_have_readouts_and_layouts_of_their_own(
    scorer_on: Callable[..., EngineScorer],
) -> None:
    # given
    engine = ByteEngine(pairs=["AB"])
    asked = [decision(readout=AVERAGE), decision(id="wide", readout=MARGINAL, **many(20)), decision(id="plain")]
    scorer = scorer_on(engine)
    # when
    together = scorer.score(asked).results
    # then each answer is that of the decision alone
    for result, single in zip(together, asked, strict=True):
        alone = score(scorer, single)
        times = ("total_seconds", "forward_seconds")
        assert {k: v for k, v in result.items() if k not in times} == {k: v for k, v in alone.items() if k not in times}
    assert [result["prompt_version"][:4] for result in together] == ["dire", "wide", "dire"]
    assert together[1]["model"]["prompt_profile"] == "wide-options-v1"
    assert together[1]["model"]["labels_sha256"] != together[0]["model"]["labels_sha256"]


def many(count: int) -> dict[str, Any]:
    return {"options": [Option(id=f"o{index}", description=f"text {index}") for index in range(count)]}


def test_more_options_than_labels_are_the_callers_fault(scorer_on: Callable[..., EngineScorer]) -> None:
    with pytest.raises(InvalidRequestError, match=r"29 options, at most 27"):
        scorer_on(ByteEngine(pairs=["AB"])).score([decision(**many(29))])


def test_a_calibration_flattens_probabilities_and_names_itself(scorer_on: Callable[..., EngineScorer]) -> None:
    # given weights of 8 and 2, and a temperature of 2 for yes-or-no questions
    fitted = Calibration(id="support-2026-11", temperature=1.0, by_type={"noul": 2.0})
    scorer = scorer_on(ByteEngine(weights(A=8, B=2)), calibration=fitted)
    # when
    noul, choice = score(scorer, decision(type="noul")), score(scorer, decision())
    # then their roots are 2 to 1
    assert noul["probabilities"] == pytest.approx([2 / 3, 1 / 3])
    assert choice["probabilities"] == pytest.approx([0.8, 0.2])
    assert noul["option_logits"] == choice["option_logits"] == pytest.approx([math.log(8), math.log(2)])
    assert (noul["temperature"], choice["temperature"]) == (2.0, 1.0)
    assert noul["model"]["calibration"] == "support-2026-11"
    status = "calibrated by support-2026-11: softmax over the declared options only, temperature 2"
    assert noul["probability_status"] == status


def test_each_order_is_calibrated_before_the_mean_is_taken(scorer_on: Callable[..., EngineScorer]) -> None:
    fitted = Calibration(id="c", temperature=2.0)
    result = score(scorer_on(ByteEngine(weights(A=8, B=2)), calibration=fitted), decision(readout=AVERAGE))
    assert result["orders"]["disagreement"] == pytest.approx(2 / 3 - 1 / 2)


@pytest.mark.parametrize(("readout", "prompts"), [(AVERAGE, 2), (MARGINAL, 4)])
def test_what_a_readout_may_decode_counts_towards_the_request(
    scorer_on: Callable[..., EngineScorer], readout: Readout, prompts: int
) -> None:
    # given
    engine = ByteEngine()
    plain = engine.encode('{"evidence": "s"', "")
    question = len(engine.encode("", engine.scaffold.after)) - 1 + len(profile.user_text(decision()).question)
    extra = prompts - 1 if readout is MARGINAL else 0  # each preamble is a token more
    total = len(plain) + prompts * question + extra
    asked = [decision(readout=readout)]
    # then the request fits exactly
    assert scorer_on(engine, max_request_tokens=total).score(asked).results
    with pytest.raises(TooLargeError, match=rf"^request: {total} tokens, at most {total - 1} .*cheaper readout"):
        scorer_on(engine, max_request_tokens=total - 1).score(asked)


@pytest.mark.parametrize("where", [">", "*"])
def test_logits_that_are_no_numbers_name_the_prompt(scorer_on: Callable[..., EngineScorer], where: str) -> None:
    # given an engine that fails after the prompt, or after its preamble
    known = weights(A=1, B=1, **{"*": 6})

    def broken(ids: np.ndarray, size: int) -> np.ndarray:
        row = known(ids, size)
        row[7] = math.nan if ids[-1] == ord(where) else row[7]
        return row

    scorer = scorer_on(ByteEngine(broken))
    asked = decision(readout=MARGINAL)
    digest = ByteEngine.scaffold.sha256(profile.user_text(asked))
    # then
    with pytest.raises(ScoringError, match=f"^prompt {digest}: 1 of 256 logits are not finite"):
        scorer.score([asked])


def test_metadata_has_the_identity_and_the_labels(scorer_on: Callable[..., EngineScorer]) -> None:
    metadata: dict[str, Any] = scorer_on(ByteEngine(pairs=["AB"])).metadata()
    assert metadata["model"]["prompt_profile"] == "direct-options-v1"
    assert [layout["max_options"] for layout in metadata["profiles"]] == [16, 27]


def test_an_average_is_that_of_its_orders_asked_one_by_one(scorer_on: Callable[..., EngineScorer]) -> None:
    # given an averaged answer, and those to the same options sent in each order
    scorer = scorer_on(ByteEngine())
    average = score(scorer, decision("a", "b", readout=AVERAGE))
    first, second = score(scorer, decision("a", "b")), score(scorer, decision("b", "a"))
    # then
    for field in ("probabilities", "option_logits"):
        mean = [(one + other) / 2 for one, other in zip(first[field], second[field][::-1], strict=True)]
        assert average[field] == pytest.approx(mean)
    mass = (first["allowed_token_mass"] + second["allowed_token_mass"]) / 2
    assert average["allowed_token_mass"] == pytest.approx(mass)
    assert average["orders"]["prompt_sha256"] == [first["prompt_sha256"], second["prompt_sha256"]]


def test_what_was_looked_through_is_calibrated_too(scorer_on: Callable[..., EngineScorer]) -> None:
    # given the answer of an uncalibrated scorer, and a temperature of 2
    asked, engine = decision("a", "b", readout=MARGINAL), ByteEngine(weights(A=1, B=1, **{"*": 6}, C=2))
    first, second = score(scorer_on(engine), asked)["probabilities"]
    flat = score(scorer_on(engine, calibration=Calibration(id="c", temperature=2.0)), asked)["probabilities"]
    # then the odds are their root
    assert flat[1] / flat[0] == pytest.approx(math.sqrt(second / first))


def test_a_preamble_has_to_fit_the_tokens_of_a_decision_too(scorer_on: Callable[..., EngineScorer]) -> None:
    # given room for exactly the prompt
    engine = ByteEngine()
    engine.max_tokens = len(f"<{profile.user_text(decision())}>")
    scorer = scorer_on(engine)
    # then
    assert scorer.score([decision(readout=AVERAGE)]).results
    with pytest.raises(TooLargeError, match=rf"{engine.max_tokens + 1} tokens, at most {engine.max_tokens} "):
        scorer.score([decision(readout=MARGINAL)])
