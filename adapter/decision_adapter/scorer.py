"""Scoring the decisions of a request: limits, admission, the engine thread, and the answer's fields."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from decision_adapter import metrics
from decision_adapter.admission import Admission
from decision_adapter.engine import Engine, Evaluation, Segments, cut
from decision_adapter.errors import TooLargeError
from decision_adapter.pace import Pace
from decision_adapter.prompt import PROMPT_VERSION, user_text
from decision_adapter.readout import PROBABILITY_STATUS, READOUT, read
from decision_adapter.schema import Decision, Option

WARM_UP = Decision(
    id="warm-up",
    state="The container has loaded its model.",
    question="Is it ready?",
    options=[Option(id="yes", description="Yes."), Option(id="no", description="No.")],
)


@dataclass(frozen=True)
class Scores:
    """The answer to a request: one result for each decision, in order, and where the time went."""

    results: list[dict[str, object]]
    timing: dict[str, object]


class Scorer(Protocol):
    """Anything that can answer decisions."""

    def score(self, decisions: Sequence[Decision], still_wanted: Callable[[], bool] = ...) -> Scores:
        """Scores of ``decisions``, which share a state. Any thread.

        Args:
            decisions: at least one.
            still_wanted: asked right before they are scored; when it says no, they are not.

        Raises:
            RequestError: too many tokens, busy, too late, or a failure of the engine.
        """

    def drain(self, seconds: float) -> None:
        """Let what is admitted run for ``seconds`` more, then stop it. Does not wait."""


@dataclass(frozen=True)
class Prompt:
    """A decision as the engine reads it."""

    segments: Segments
    sha256: str
    encode_seconds: float


class EngineScorer:
    """A ``Scorer`` on an ``Engine``.

    Request threads render, tokenise and check limits, then run ``evaluate`` through ``Admission``, which bounds the
    work that waits and how long it waits.
    """

    def __init__(
        self,
        engine: Engine,
        identity: Mapping[str, object],
        max_request_tokens: int,
        max_in_flight: int,
        deadline_seconds: float = 55,
    ) -> None:
        self._engine = engine
        self._identity = dict(identity)
        self._max_request_tokens = max_request_tokens
        self._pace = Pace(deadline_seconds)
        self._admission = Admission(max_in_flight, deadline_seconds)

    def score(self, decisions: Sequence[Decision], still_wanted: Callable[[], bool] = lambda: True) -> Scores:
        """Scores of ``decisions``, which share a state. Any thread."""
        started = time.perf_counter()
        prompts = self._prompts(decisions)
        self._check_limits(decisions, prompts)
        encoded = time.perf_counter()
        segments = [prompt.segments for prompt in prompts]
        evaluations = self._admission.run(lambda stop: self._engine.evaluate(segments, stop), started, still_wanted)
        self._count(prompts, evaluations)
        results = [
            self._result(decision, prompt, evaluation)
            for decision, prompt, evaluation in zip(decisions, prompts, evaluations, strict=True)
        ]
        return Scores(
            results,
            {
                "batch_size": len(decisions),
                "prefix_tokens": len(prompts[0].segments.prefix),
                "encode_seconds": encoded - started,
                "prefill_seconds": sum(evaluation.prefill_seconds for evaluation in evaluations),
                "suffix_forward_seconds": sum(evaluation.suffix_seconds for evaluation in evaluations),
                "total_seconds": time.perf_counter() - started,
            },
        )

    def drain(self, seconds: float) -> None:
        """Let what is admitted run for ``seconds`` more, then stop it. Does not wait."""
        self._admission.stop_after(seconds)

    def close(self) -> None:
        """Wait for the engine thread to finish what it has and end it."""
        self._admission.close()

    def _prompts(self, decisions: Sequence[Decision]) -> list[Prompt]:
        started = time.perf_counter()
        texts = [user_text(decision) for decision in decisions]
        state_ids = self._engine.encode(texts[0].state, "")
        prompts = []
        for text in texts:
            ids = self._engine.encode(str(text), self._engine.scaffold.after)
            finished = time.perf_counter()
            prompts.append(Prompt(cut(ids, state_ids), self._engine.scaffold.sha256(text), finished - started))
            started = finished
        return prompts

    def _check_limits(self, decisions: Sequence[Decision], prompts: Sequence[Prompt]) -> None:
        """Refuse what is too much to decode.

        Raises:
            TooLargeError: a decision or the request has too many tokens, for the memory or for the time there is.
        """
        for decision, prompt in zip(decisions, prompts, strict=True):
            if len(prompt.segments) > self._engine.max_tokens:
                raise TooLargeError(
                    f"decision {decision.id[:40]!r}: {len(prompt.segments)} tokens, at most {self._engine.max_tokens} "
                    "(SEMIF_MAX_TOKENS, or what the model was trained on); shorten the state"
                )
        tokens = len(prompts[0].segments.prefix) + sum(len(prompt.segments.suffix) for prompt in prompts)
        if tokens > self._max_request_tokens:
            raise TooLargeError(
                f"request: {tokens} tokens, at most {self._max_request_tokens} (SEMIF_MAX_REQUEST_TOKENS), the state "
                "counted once; send fewer decisions at a time"
            )
        self._pace.check(tokens)

    def _count(self, prompts: Sequence[Prompt], evaluations: Sequence[Evaluation]) -> None:
        """Take note of the tokens that were decoded and of those that were not."""
        tokens = sum(len(prompt.segments) for prompt in prompts)
        reused = sum(evaluation.reused_tokens for evaluation in evaluations)
        metrics.PROMPT_TOKENS.inc(tokens)
        metrics.REUSED_TOKENS.inc(reused)
        # Of a prompt evaluated alone it is certain what was decoded in which time.
        if len(prompts) == 1:
            self._pace.learn(tokens - reused, evaluations[0].prefill_seconds + evaluations[0].suffix_seconds)

    def _result(self, decision: Decision, prompt: Prompt, evaluation: Evaluation) -> dict[str, object]:
        started = time.perf_counter()
        answer_ids = self._engine.answer_ids[: len(decision.options)]
        scores = read(evaluation.logits, answer_ids)
        forward = evaluation.prefill_seconds + evaluation.suffix_seconds
        return {
            "id": decision.id,
            "option_ids": [option.id for option in decision.options],
            "probabilities": scores.probabilities,
            "option_logits": scores.option_logits,
            "answer_token_ids": list(answer_ids),
            "input_tokens": len(prompt.segments),
            "allowed_token_mass": scores.allowed_token_mass,
            "full_vocab_argmax_id": scores.full_vocab_argmax_id,
            "prompt_sha256": prompt.sha256,
            "prompt_version": PROMPT_VERSION,
            "forward_seconds": forward,
            "total_seconds": prompt.encode_seconds + forward + time.perf_counter() - started,
            "model": self._identity,
            "readout": READOUT,
            "probability_status": PROBABILITY_STATUS,
        }
