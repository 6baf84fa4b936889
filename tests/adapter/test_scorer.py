"""Limits, places and the fields of a result, on an engine whose numbers are known."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import pytest

from decision_adapter import metrics
from decision_adapter.decision import Decision, Option
from decision_adapter.engine import Evaluation, Segments, Stop, TokenIds
from decision_adapter.errors import BusyError, ClientGoneError, ScoringError, TooLargeError
from decision_adapter.labels import Labels
from decision_adapter.prompt import Scaffold, user_text
from decision_adapter.scorer import EngineScorer

PATIENCE_SECONDS = 10


class KnownEngine:
    """One token a byte; after any prompt, tokens 0 to 4 weigh 3, 1, 4, 1 and 1."""

    scaffold = Scaffold("<", ">")
    answer_ids = (2, 0, 1)
    max_tokens = 300

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.threads: set[str] = set()
        self.called = threading.Event()
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.weights = [3.0, 1.0, 4.0, 1.0, 1.0]
        self.reused_tokens = 0

    def encode(self, user: str, after: str) -> TokenIds:
        return np.frombuffer(f"<{user}{after}".encode(), dtype=np.uint8).astype(np.int32)

    def evaluate(self, prompts: Sequence[Segments], stop: Stop | None = None) -> list[Evaluation]:
        self.calls.append(len(prompts))
        self.threads.add(threading.current_thread().name)
        self.called.set()
        assert self.may_answer.wait(PATIENCE_SECONDS)
        logits = np.log(np.array(self.weights, dtype=np.float32))
        seconds = [0.5 if index == 0 else 0.0 for index in range(len(prompts))]
        return [Evaluation(logits, prefill, 0.25, self.reused_tokens) for prefill in seconds]


@pytest.fixture
def known() -> KnownEngine:
    return KnownEngine()


@pytest.fixture
def scorer_with(known: KnownEngine) -> Iterator[Callable[..., EngineScorer]]:
    made: list[EngineScorer] = []

    def make(max_request_tokens: int = 1000, max_in_flight: int = 1, deadline_seconds: float = 55) -> EngineScorer:
        made.append(EngineScorer(known, {"name": "known"}, max_request_tokens, max_in_flight, deadline_seconds))
        return made[-1]

    yield make
    known.may_answer.set()
    for scorer in made:
        scorer.close()


def decision(name: str = "d", question: str = "q") -> Decision:
    options = [Option(id="yes", description="Yes."), Option(id="no", description="No.")]
    return Decision(id=name, state="s", question=question, options=options)


@pytest.mark.parametrize(("reused_tokens", "cached"), [(0, 0), (10, 10), (20, 17)])
def test_usage_counts_the_state_once_and_what_was_not_decoded(
    scorer_with: Callable[..., EngineScorer], known: KnownEngine, reused_tokens: int, cached: int
) -> None:
    # given two decisions over a state of 17 tokens, `<{"evidence": "s"`, and an engine that keeps so many of each
    known.reused_tokens = reused_tokens
    lengths = [len(f"<{user_text(decision(question=question))}>") for question in ("q", "longer")]
    # when
    usage = scorer_with().score([decision("a", "q"), decision("b", "longer")]).usage
    # then of the state counts what the first decision found
    assert usage.input_tokens == 17 + sum(lengths) - 2 * 17
    assert usage.cached_tokens == cached


def test_the_deadline_counts_from_the_beginning_that_is_named(
    scorer_with: Callable[..., EngineScorer], known: KnownEngine
) -> None:
    # given an engine that is held up, so that the next decision has to wait for its turn
    known.may_answer.clear()
    scorer = scorer_with(max_in_flight=2, deadline_seconds=3600)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(scorer.score, [decision()])
        assert known.called.wait(PATIENCE_SECONDS)
        # when its request began an hour ago, then it does not wait
        with pytest.raises(BusyError, match="the turn did not come"):
            scorer.score([decision()], started=time.perf_counter() - 3600)
        known.may_answer.set()
        assert held.result(PATIENCE_SECONDS).results


def test_a_result_has_every_field_of_the_contract(scorer_with: Callable[..., EngineScorer]) -> None:
    # given one decision whose options are the tokens 2 and 0, of weights 4 and 3 out of 10
    wanted = decision()
    text = f"<{user_text(wanted)}>"
    # when
    scores = scorer_with().score([wanted])
    # then
    result: dict[str, Any] = scores.results[0]
    assert result.pop("probabilities") == pytest.approx([4 / 7, 3 / 7])
    assert result.pop("option_logits") == pytest.approx([math.log(4), math.log(3)])
    assert result.pop("allowed_token_mass") == pytest.approx(0.7)
    assert 0.75 <= result.pop("total_seconds") < 1
    assert result == {
        "id": "d",
        "option_ids": ["yes", "no"],
        "answer_token_ids": [2, 0],
        "input_tokens": len(text),
        "full_vocab_argmax_id": 2,
        "full_vocab_argmax_is_option": True,
        "prompt_sha256": KnownEngine.scaffold.sha256(user_text(wanted)),
        "prompt_version": "direct-options-v1",
        "forward_seconds": 0.75,
        "model": {
            "name": "known",
            "prompt_profile": "direct-options-v1",
            "labels_sha256": Labels(("A", "B", "C"), (2, 0, 1)).sha256,
            "calibration": None,
        },
        "temperature": 1.0,
        "readout": "next-token-logits",
        "probability_status": "uncalibrated: softmax over the declared options only",
    }


def test_decisions_over_one_state_go_to_the_engine_together(
    known: KnownEngine, scorer_with: Callable[..., EngineScorer]
) -> None:
    # when
    scores = scorer_with().score([decision("a", "q1"), decision("b", "q2"), decision("c", "q3")])
    # then
    assert known.calls == [3]
    assert [result["id"] for result in scores.results] == ["a", "b", "c"]
    assert scores.timing["batch_size"] == 3
    assert scores.timing["prefix_tokens"] == len('<{"evidence": "s"')
    assert scores.timing["prefill_seconds"] == 0.5
    assert scores.timing["suffix_forward_seconds"] == 0.75
    assert scores.results[1]["forward_seconds"] == 0.25


def test_a_decision_of_too_many_tokens_is_refused_before_the_engine(
    known: KnownEngine, scorer_with: Callable[..., EngineScorer]
) -> None:
    with pytest.raises(TooLargeError, match=r"^decision 'b': \d+ tokens, at most 300 \(SEMIF_MAX_TOKENS"):
        scorer_with().score([decision("a"), decision("b", "long " * 60)])
    assert known.calls == []


@pytest.mark.parametrize(("field", "what"), [("state", "state"), ("question", "question and options")])
def test_text_that_is_far_too_long_is_refused_by_its_beginning(
    known: KnownEngine, scorer_with: Callable[..., EngineScorer], monkeypatch: pytest.MonkeyPatch, field: str, what: str
) -> None:
    # given an engine that notes what it tokenises, and a text of a hundred times the tokens that a decision may have
    lengths: list[int] = []
    encode = known.encode

    def noting(user: str, after: str) -> TokenIds:
        lengths.append(len(user))
        return encode(user, after)

    monkeypatch.setattr(known, "encode", noting)
    scorer = scorer_with()
    lengths.clear()
    # then
    with pytest.raises(TooLargeError, match=rf"^decision 'long': \d+ tokens or more in {what} alone, at most 300 "):
        scorer.score([decision("long").model_copy(update={field: "x" * 30_000})])
    assert [length < 5000 for length in lengths] == [True]


def test_the_state_counts_once_towards_the_tokens_of_a_request(scorer_with: Callable[..., EngineScorer]) -> None:
    # given the tokens of two decisions whose prefix is shared
    each, prefix = len(f"<{user_text(decision())}>"), len('<{"evidence": "s"')
    total = 2 * each - prefix
    # then the request fits exactly
    assert scorer_with(max_request_tokens=total).score([decision("a"), decision("b")])
    with pytest.raises(TooLargeError, match=rf"^request: {total} tokens, at most {total - 1} \(SEMIF_MAX_REQUEST"):
        scorer_with(max_request_tokens=total - 1).score([decision("a"), decision("b")])


def test_beyond_its_places_a_scorer_is_busy_and_recovers(
    known: KnownEngine, scorer_with: Callable[..., EngineScorer]
) -> None:
    # given two places and an engine that does not answer
    scorer = scorer_with(max_in_flight=2)
    known.may_answer.clear()
    with ThreadPoolExecutor(3) as pool:
        # when three come, the one that gets no place is the only one to end
        futures = [pool.submit(scorer.score, [decision()]) for _ in range(3)]
        ended, waiting = wait(futures, PATIENCE_SECONDS, FIRST_COMPLETED)
        [refused] = ended
        with pytest.raises(BusyError, match=r"^busy: 2 in flight \(SEMIF_MAX_IN_FLIGHT\)"):
            refused.result()
        # then the other two are answered, by the one engine thread, and there is room again
        known.may_answer.set()
        assert all(future.result(PATIENCE_SECONDS).results for future in waiting)
    assert scorer.score([decision()]).results
    assert len(known.threads) == 1


def test_a_failure_gives_its_place_back(known: KnownEngine, scorer_with: Callable[..., EngineScorer]) -> None:
    # given logits that are no numbers
    scorer = scorer_with()
    known.weights[4] = math.nan
    with pytest.raises(ScoringError):
        scorer.score([decision()])
    # when they are numbers again
    known.weights[4] = 1.0
    # then
    assert scorer.score([decision()]).results


def test_what_cannot_finish_in_time_is_refused_by_its_tokens(scorer_with: Callable[..., EngineScorer]) -> None:
    # given a scorer that took 0.75 s for its first decision, and has 0.8 s for any
    scorer = scorer_with(deadline_seconds=0.8)
    tokens = len(f"<{user_text(decision())}>")
    assert scorer.score([decision()]).results
    # then as many tokens again are scored, and a tenth more are refused
    assert scorer.score([decision()]).results
    longer = decision(question="q" * (tokens // 10 + 1))
    with pytest.raises(TooLargeError, match=rf"^request: {len(f'<{user_text(longer)}>')} tokens take 1 s at the .*"):
        scorer.score([longer])


def test_tokens_are_counted(scorer_with: Callable[..., EngineScorer]) -> None:
    before = sample("decision_prompt_tokens_total")
    scorer_with().score([decision()])
    assert sample("decision_prompt_tokens_total") - before == len(f"<{user_text(decision())}>")
    assert sample("decision_queue_depth") == 0


def test_a_caller_that_is_gone_is_not_scored(known: KnownEngine, scorer_with: Callable[..., EngineScorer]) -> None:
    with pytest.raises(ClientGoneError):
        scorer_with().score([decision()], lambda: False)
    assert known.calls == []


def sample(name: str) -> float:
    value = metrics.REGISTRY.get_sample_value(name)
    assert value is not None
    return value
