"""Scoring the decisions of a request: limits, admission, the engine thread, and the answer's fields."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from decision_adapter import metrics, preparation
from decision_adapter.admission import Admission
from decision_adapter.calibration import Calibration
from decision_adapter.decision import Decision, Option
from decision_adapter.engine import Engine, TokenIds
from decision_adapter.errors import TooLargeError
from decision_adapter.layout import Layout
from decision_adapter.pace import Pace
from decision_adapter.profile import Profile, direct_options
from decision_adapter.reading import Evaluated, Reading, evaluate, prepare

UNCALIBRATED = "uncalibrated: softmax over the declared options only"

WARM_UP = Decision(
    id="warm-up",
    state="The container has loaded its model.",
    question="Is it ready?",
    options=[Option(id="yes", description="Yes."), Option(id="no", description="No.")],
)


SAMPLE_CHARACTERS = 16
"""For each token that a decision may have: of a text with more, only so much is looked at first. Ordinary text
has four characters a token."""


@dataclass(frozen=True)
class Usage:
    """Tokens of a request."""

    input_tokens: int = 0
    """What the model read: the state once for each layout, and every question with its options."""
    cached_tokens: int = 0
    """Those of the state that were in memory before, and not decoded."""


@dataclass(frozen=True)
class Scores:
    """The answer to a request: one result for each decision, in order, where the time went, and what was read."""

    results: list[dict[str, object]]
    timing: dict[str, object]
    usage: Usage = Usage()


class Scorer(Protocol):
    """Anything that can answer decisions."""

    def score(
        self, decisions: Sequence[Decision], still_wanted: Callable[[], bool] = ..., started: float | None = None
    ) -> Scores:
        """Scores of ``decisions``, which share a state. Any thread.

        Args:
            decisions: at least one.
            still_wanted: asked right before they are scored; when it says no, they are not.
            started: when the request began, by ``time.perf_counter``, if that was before this call: the deadline
                counts from there.

        Raises:
            RequestError: too many options or tokens, busy, too late, or a failure of the engine.
        """

    def drain(self, seconds: float) -> None:
        """Let what is admitted run for ``seconds`` more, then stop it. Does not wait."""

    def examine(self) -> None:
        """Find out how to be faster, when nothing else is to be done. Does not wait."""

    def metadata(self) -> dict[str, object]:
        """What decisions are scored with: the model's identity and the labels of each prompt profile."""


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
        *,
        profile: Profile | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        """Prepare to score with ``profile``; None is the letters A to P, ``direct-options-v1``, alone."""
        self._engine = engine
        self._profile = profile or Profile([direct_options(engine)])
        self._calibration = calibration
        self._identities = {
            layout.name: {
                **identity,
                "prompt_profile": layout.name,
                "labels_sha256": layout.labels.sha256,
                "calibration": calibration and calibration.id,
            }
            for layout in self._profile.layouts
        }
        self._max_request_tokens = max_request_tokens
        self._pace = Pace(deadline_seconds)
        self._admission = Admission(max_in_flight, deadline_seconds)

    def score(
        self,
        decisions: Sequence[Decision],
        still_wanted: Callable[[], bool] = lambda: True,
        started: float | None = None,
    ) -> Scores:
        """Scores of ``decisions``, which share a state. Any thread."""
        called = time.perf_counter()
        readings = self._readings(decisions)
        self._check_limits(readings)
        encoded = time.perf_counter()
        with preparation.waiting():
            evaluated = self._admission.run(
                lambda stop: evaluate(readings, lambda prompts: self._engine.evaluate(prompts, stop)),
                called if started is None else started,
                still_wanted,
            )
        usage = self._count(readings, evaluated)
        results = [self._result(reading, found) for reading, found in zip(readings, evaluated, strict=True)]
        evaluations = [evaluation for found in evaluated for evaluation in found.all]
        return Scores(
            results,
            {
                "batch_size": len(decisions),
                "prefix_tokens": len(readings[0].prompts[0].segments.prefix),
                "encode_seconds": encoded - called,
                "prefill_seconds": sum(evaluation.prefill_seconds for evaluation in evaluations),
                "suffix_forward_seconds": sum(evaluation.suffix_seconds for evaluation in evaluations),
                "total_seconds": time.perf_counter() - called,
            },
            usage,
        )

    def metadata(self) -> dict[str, object]:
        """What decisions are scored with: the model's identity and the labels of each prompt profile. Any thread."""
        return {"model": self._identities[self._profile.layouts[0].name], "profiles": self._profile.metadata()}

    def drain(self, seconds: float) -> None:
        """Let what is admitted run for ``seconds`` more, then stop it. Does not wait."""
        self._admission.stop_after(seconds)

    def examine(self) -> None:
        """Find out how to be faster, when its turn comes. Does not wait."""
        self._admission.run_unasked(self._engine.examine)

    def close(self) -> None:
        """Wait for the engine thread to finish what it has and end it."""
        self._admission.close()

    def _readings(self, decisions: Sequence[Decision]) -> list[Reading]:
        state_ids: dict[str, TokenIds] = {}  # by layout: the decisions share their state
        readings = []
        for decision in decisions:
            layout = self._profile.layout(decision)
            asked = "".join([decision.question, *(option.description for option in decision.options)])
            self._check_beginning(decision, layout, asked, "question and options")
            if layout.name not in state_ids:
                self._check_beginning(decision, layout, decision.state_json(), "state")
                state_ids[layout.name] = layout.encode_state(decision)
                self._check_length(decision, len(state_ids[layout.name]), "tokens in state alone")
            readings.append(prepare(decision, layout, state_ids[layout.name], self._temperature(decision)))
        return readings

    def _temperature(self, decision: Decision) -> float:
        return self._calibration.of(decision.type, len(decision.options)) if self._calibration else 1.0

    def _check_limits(self, readings: Sequence[Reading]) -> None:
        """Refuse what is too much to decode.

        Raises:
            TooLargeError: a decision or the request has too many tokens, for the memory or for the time there is.
        """
        for reading in readings:
            self._check_length(reading.decision, reading.longest, "tokens")
        tokens = _state_tokens(readings) + sum(reading.suffix_tokens for reading in readings)
        if tokens > self._max_request_tokens:
            raise TooLargeError(
                f"request: {tokens} tokens, at most {self._max_request_tokens} (SEMIF_MAX_REQUEST_TOKENS), the state "
                "counted once, every order of options and every preamble looked through counted too; send fewer "
                "decisions at a time, or ask for a cheaper readout"
            )
        self._pace.check(tokens)

    def _check_beginning(self, decision: Decision, layout: Layout, text: str, what: str) -> None:
        """Refuse ``text`` that is far too long by its beginning: all its tokens would cost time and memory."""
        beginning = text[: SAMPLE_CHARACTERS * self._engine.max_tokens]
        if len(beginning) < len(text):
            tokens = len(layout.encode_state(decision.model_copy(update={"state": beginning})))
            # As text it is quoted once more, which may double its tokens; a cut changes one word at most.
            if tokens > 4 * self._engine.max_tokens:
                self._check_length(decision, tokens // 2, f"tokens or more in {what} alone")

    def _check_length(self, decision: Decision, tokens: int, what: str) -> None:
        if tokens > self._engine.max_tokens:
            raise TooLargeError(
                f"decision {decision.id[:40]!r}: {tokens} {what}, at most {self._engine.max_tokens} "
                "(SEMIF_MAX_TOKENS, or what the model was trained on); shorten it"
            )

    def _count(self, readings: Sequence[Reading], evaluated: Sequence[Evaluated]) -> Usage:
        """Take note of the tokens that were decoded and of those that were not; returns what the request used."""
        evaluations = [evaluation for found in evaluated for evaluation in found.all]
        tokens = sum(reading.tokens(found) for reading, found in zip(readings, evaluated, strict=True))
        reused = sum(evaluation.reused_tokens for evaluation in evaluations)
        metrics.PROMPT_TOKENS.inc(tokens)
        metrics.REUSED_TOKENS.inc(reused)
        seconds = sum(evaluation.prefill_seconds + evaluation.suffix_seconds for evaluation in evaluations)
        self._pace.learn(tokens - reused, seconds)
        suffixes = [
            reading.tokens(found, suffixes_only=True) for reading, found in zip(readings, evaluated, strict=True)
        ]
        kept: dict[str, int] = {}  # by layout: what the first to read the state found
        for reading, found in zip(readings, evaluated, strict=True):
            prefix = len(reading.prompts[0].segments.prefix)
            kept.setdefault(reading.layout.name, min(prefix, found.prompts[0].reused_tokens))
        return Usage(_state_tokens(readings) + sum(suffixes), sum(kept.values()))

    def _result(self, reading: Reading, evaluated: Evaluated) -> dict[str, object]:
        started = time.perf_counter()
        fields = reading.result(evaluated)
        forward = sum(evaluation.prefill_seconds + evaluation.suffix_seconds for evaluation in evaluated.all)
        return {
            **fields,
            "forward_seconds": forward,
            "total_seconds": reading.encode_seconds + forward + time.perf_counter() - started,
            "model": self._identities[reading.layout.name],
            "probability_status": self._status(reading),
        }

    def _status(self, reading: Reading) -> str:
        if self._calibration is None:
            return UNCALIBRATED
        return (
            f"calibrated by {self._calibration.id}: softmax over the declared options only, "
            f"temperature {reading.temperature:g}"
        )


def _state_tokens(readings: Sequence[Reading]) -> int:
    """Tokens of the scaffold and the state, once for each layout that ``readings`` use."""
    return sum({reading.layout.name: len(reading.prompts[0].segments.prefix) for reading in readings}.values())
