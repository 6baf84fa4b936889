"""The application on a scorer that does as it is told."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from flask import Flask
from flask.testing import FlaskClient

from decision_adapter.app import create_app
from decision_adapter.decision import Decision
from decision_adapter.loading import BackgroundLoad
from decision_adapter.scorer import WARM_UP, Scores, Usage
from decision_adapter.settings import Settings

MODEL = {"gguf": {"file": "tiny.gguf"}}
PATIENCE_SECONDS = 10


def result(decision: Decision) -> dict[str, object]:
    """What every answer needs of a result: all options are equally likely."""
    count = len(decision.options)
    return {
        "id": decision.id,
        "option_ids": [option.id for option in decision.options],
        "probabilities": [1 / count] * count,
        "allowed_token_mass": 1.0,
        "option_logits": [0.0] * count,
        "temperature": 1.0,
        "prompt_version": "p",
        "prompt_sha256": "0" * 64,
        "model": MODEL,
    }


class Obedient:
    """Gives each decision its ``result``, or fails with ``failure``; warm-ups always work."""

    def __init__(self, metadata: Mapping[str, object]) -> None:
        self._metadata = metadata
        self.failure: Exception | None = None
        self.started: float | None = None

    def score(
        self,
        decisions: Sequence[Decision],
        still_wanted: Callable[[], bool] = lambda: True,
        started: float | None = None,
    ) -> Scores:
        if self.failure and decisions[0] is not WARM_UP:
            raise self.failure
        self.started = started
        return Scores([result(decision) for decision in decisions], {"batch_size": len(decisions)}, Usage(7))

    def metadata(self) -> dict[str, object]:
        return dict(self._metadata)

    def drain(self, seconds: float) -> None:
        """Nothing is ever in flight."""

    def examine(self) -> None:
        """There is nothing to find out."""


def app_of(load: Callable[[], Obedient], wait: bool = True, **environment: str) -> Flask:
    """The application on what ``load`` gives, once that is loaded or at once."""
    loading = BackgroundLoad(load, lambda: None, pytest.fail).start()
    if wait:
        loading.join(PATIENCE_SECONDS)
    return create_app(loading, Settings.from_environment({"SEMIF_MAX_BODY_BYTES": "4096"} | environment))


def client_of(load: Callable[[], Obedient], wait: bool = True, **environment: str) -> FlaskClient:
    """A client of that application."""
    return app_of(load, wait, **environment).test_client()
