"""Loading beside answering: ready after a warm-up decision, a sentence when it cannot be."""

import threading
from collections.abc import Callable, Sequence

import pytest

from decision_adapter.errors import ArtifactError, LoadingError, ScoringError
from decision_adapter.loading import BackgroundLoad, offloaded
from decision_adapter.schema import Decision
from decision_adapter.scorer import WARM_UP, Scores

PATIENCE_SECONDS = 10


class Remembering:
    """A scorer that remembers what it was asked."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.asked: list[Decision] = []
        self._failure = failure

    def score(self, decisions: Sequence[Decision], still_wanted: Callable[[], bool] = lambda: True) -> Scores:
        if self._failure:
            raise self._failure
        self.asked.extend(decisions)
        return Scores([], {})


def refuse_nothing(reason: str) -> None:
    raise AssertionError(reason)


def test_it_is_ready_only_after_the_warm_up_decision() -> None:
    # given a model that takes its time
    loaded, scorer = threading.Event(), Remembering()

    def load() -> Remembering:
        assert loaded.wait(PATIENCE_SECONDS)
        return scorer

    # when it loads
    loading = BackgroundLoad(load, refuse_nothing).start()
    # then it is not ready, and says so
    assert not loading.ready
    with pytest.raises(LoadingError):
        loading.scorer()
    # and once it has loaded and scored, it is
    loaded.set()
    loading.join(PATIENCE_SECONDS)
    assert loading.ready
    assert loading.scorer() is scorer
    assert scorer.asked == [WARM_UP]


def test_a_model_that_cannot_be_loaded_is_refused_with_its_sentence() -> None:
    reasons: list[str] = []

    def load() -> Remembering:
        raise ArtifactError("two GGUF files: a, b")

    loading = BackgroundLoad(load, reasons.append).start()
    loading.join(PATIENCE_SECONDS)
    assert reasons == ["two GGUF files: a, b"]
    assert not loading.ready


def test_a_model_that_cannot_score_never_gets_ready() -> None:
    reasons: list[str] = []
    loading = BackgroundLoad(lambda: Remembering(ScoringError("3 logits are not finite")), reasons.append).start()
    loading.join(PATIENCE_SECONDS)
    assert reasons == ["loading failed: 3 logits are not finite"]
    assert not loading.ready


@pytest.mark.parametrize(("asked", "told"), [(0, "0 of 31"), (-1, "31 of 31"), (7, "7 of 31"), (99, "31 of 31")])
def test_the_layers_on_a_gpu_are_told_with_the_output_layer(asked: int, told: str) -> None:
    assert offloaded(asked, layers=30) == told
