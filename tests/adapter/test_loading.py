"""Loading beside answering: ready after a warm-up decision, a sentence when it cannot be."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from decision_adapter.decision import Decision
from decision_adapter.errors import ArtifactError, LoadingError, ScoringError
from decision_adapter.loading import BackgroundLoad, how_to_read, offloaded
from decision_adapter.scorer import WARM_UP, Scores
from decision_adapter.settings import Settings

PATIENCE_SECONDS = 10


class Remembering:
    """A scorer that remembers what it was asked."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.asked: list[Decision] = []
        self.examined = False
        self._failure = failure

    def score(self, decisions: Sequence[Decision], still_wanted: Callable[[], bool] = lambda: True) -> Scores:
        if self._failure:
            raise self._failure
        self.asked.extend(decisions)
        return Scores([], {})

    def examine(self) -> None:
        self.examined = True


def announce_nothing() -> None:
    raise AssertionError("it is not ready")


def refuse_nothing(reason: str) -> None:
    raise AssertionError(reason)


def test_it_is_ready_only_after_the_warm_up_decision() -> None:
    # given a model that takes its time
    loaded, scorer = threading.Event(), Remembering()

    def load() -> Remembering:
        assert loaded.wait(PATIENCE_SECONDS)
        return scorer

    # when it loads
    announced = threading.Event()
    loading = BackgroundLoad(load, announced.set, refuse_nothing).start()
    # then it is not ready, and says so
    assert not loading.ready
    assert not announced.is_set()
    with pytest.raises(LoadingError):
        loading.scorer()
    # and once it has loaded and scored, it is
    loaded.set()
    loading.join(PATIENCE_SECONDS)
    assert loading.ready
    assert announced.is_set()
    assert loading.scorer() is scorer
    assert scorer.asked == [WARM_UP]
    assert scorer.examined


def test_a_model_that_cannot_be_loaded_is_refused_with_its_sentence() -> None:
    reasons: list[str] = []

    def load() -> Remembering:
        raise ArtifactError("two GGUF files: a, b")

    loading = BackgroundLoad(load, announce_nothing, reasons.append).start()
    loading.join(PATIENCE_SECONDS)
    assert reasons == ["two GGUF files: a, b"]
    assert not loading.ready


def test_a_model_that_cannot_score_never_gets_ready() -> None:
    reasons: list[str] = []
    loading = BackgroundLoad(
        lambda: Remembering(ScoringError("3 logits are not finite")), announce_nothing, reasons.append
    ).start()
    loading.join(PATIENCE_SECONDS)
    assert reasons == ["loading failed: 3 logits are not finite"]
    assert not loading.ready


@pytest.mark.parametrize(("asked", "told"), [(0, "0 of 31"), (-1, "31 of 31"), (7, "7 of 31"), (99, "31 of 31")])
def test_the_layers_on_a_gpu_are_told_with_the_output_layer(asked: int, told: str) -> None:
    assert offloaded(asked, layers=30) == told


def archive(folder: Path, **files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize(
    ("files", "profile_set", "expected"),
    [
        ({}, "", ("direct-options-v1", None)),
        ({}, "decider-plain", ("decider-plain", None)),
        ({"decider_config": {}}, "", ("decider-plain", None)),
        ({"decider_config": {"layout": "chat"}}, "", ("decider-chat", None)),
        ({"calibration": {"id": "c", "temperature": 2}}, "", ("direct-options-v1", "c")),
        # both: what was fitted for this deployment comes before what came with the model
        (
            {"decider_config": {"temperature": 2}, "calibration": {"id": "c", "temperature": 3}},
            "",
            ("decider-plain", "c"),
        ),
        # a decider's temperatures were not fitted for another profile
        ({"decider_config": {"temperature": 2}}, "direct-options-v1", ("direct-options-v1", None)),
    ],
)
def test_settings_come_before_the_archives_files(
    tmp_path: Path, files: dict[str, Any], profile_set: str, expected: tuple[str, str | None]
) -> None:
    environment = {"SEMIF_MODEL_DIR": str(archive(tmp_path, **files)), "SEMIF_PROMPT_PROFILE": profile_set}
    name, fitted = how_to_read(Settings.from_environment(environment))
    assert (name, fitted and fitted.id) == expected


def test_a_deciders_own_temperatures_are_its_calibration(tmp_path: Path) -> None:
    archive(tmp_path, decider_config={"temperature": 1.3, "temperature_by_type": {"noul": 2.2}})
    name, fitted = how_to_read(Settings.from_environment({"SEMIF_MODEL_DIR": str(tmp_path)}))
    assert name == "decider-plain"
    assert fitted is not None
    assert (fitted.of("choice", 3), fitted.of("noul", 2)) == (1.3, 2.2)
