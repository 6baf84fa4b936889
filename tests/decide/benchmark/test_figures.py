"""Figures by hand."""

from typing import Any

import pytest

from decide.benchmark.figures import Figures, Measured, percentile
from decide.benchmark.load import Level, Sample
from decide.benchmark.prices import prices_of
from decide.benchmark.threads import recommendation
from decide.errors import UsageError
from decision_client import ModelIdentity, Result
from decision_client.result import GgufIdentity
from tests.client.asked import decision, result


def sample(seconds: float, refusals: int = 0, **fields: Any) -> Sample:
    return Sample(seconds, refusals, Result.model_validate(result(decision().wire()) | fields))


def figures(forward: float = 0.1, rate: float = 2.0, words: int = 50, callers: int = 1) -> Figures:
    return Figures(words, callers, 10, 100, 0.2, 0.3, 0.35, 0.4, forward, 0.15, rate, 0.0)


def measured(
    threads: int | None, forward: float, *, instance: str = "1 × ml.c6i.xlarge", sha256: str = "a", layers: int = 0
) -> Measured:
    model = ModelIdentity(threads=threads, gpu_layers=layers, gguf=GgufIdentity(file="m", sha256=sha256, bytes=1))
    return Measured(f"t{threads}", instance, model=model, figures=[figures(forward)])


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [percentile(values, percent) for percent in (50, 90, 99, 100)] == [50, 90, 99, 100]
    assert [percentile([3.0, 1.0, 2.0], percent) for percent in (1, 50, 99)] == [1, 2, 3]


def test_the_figures_of_a_level() -> None:
    level = Level((sample(1.0), sample(3.0, refusals=2, forward_seconds=0.5), sample(2.0)), seconds=6.0)
    found = Figures.of(level, 50, 2)
    assert (found.p50_seconds, found.p99_seconds, found.requests) == (2.0, 3.0, 3)
    assert (found.decisions_per_second, found.busy_rate) == (0.5, 0.4)
    assert (found.forward_p50_seconds, found.total_p50_seconds, found.input_tokens) == (0.01, 0.02, 100)


def test_the_cost_is_that_of_the_fastest_level_over_the_first_states() -> None:
    levels = [figures(rate=2), figures(rate=4, callers=4), figures(rate=100, words=1)]
    assert Measured("x", "", 1.44, figures=levels).cost_per_thousand() == pytest.approx(1.44 / (4 * 3600) * 1000)
    assert Measured("x", "", figures=levels).cost_per_thousand() is None


def test_prices_are_those_of_what_is_measured() -> None:
    assert prices_of([], ["a", "b"]) == {}
    assert prices_of(["1.5"], ["a"]) == {"a": 1.5}
    assert prices_of(["b=2", "a=1"], ["a", "b"]) == {"a": 1, "b": 2}
    assert prices_of(["http://x/?a=b=2"], ["http://x/?a=b"]) == {"http://x/?a=b": 2}


@pytest.mark.parametrize("option", ["1", "c=1", "a=x", "a=0", "a=-1", "a=nan", "a=inf", "a="])
def test_a_price_that_cannot_be_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match="--hourly-price"):
        prices_of([option], ["a", "b"])


def test_the_threads_of_the_fastest_endpoint_are_recommended() -> None:
    said = recommendation([measured(8, 0.2), measured(4, 0.1), measured(16, 0.4)])
    assert said == "threads: take 4: 100 ms in the model, 8 took 200 ms, 16 took 400 ms"
    assert recommendation([measured(8, 0.2, instance=""), measured(4, 0.1, instance="")]).endswith("for you to know")


@pytest.mark.parametrize(
    ("endpoints", "why"),
    [
        ([measured(8, 0.2)], "from one number (8)"),
        ([measured(8, 0.2), measured(8, 0.3)], "from one number (8)"),
        ([measured(8, 0.2), measured(4, 0.1, sha256="b")], "different models"),
        ([measured(8, 0.2), measured(4, 0.1, instance="1 × ml.c7i.xlarge")], "different instance types"),
        ([measured(8, 0.2, layers=-1)], "scores on the CPU"),
        ([measured(None, 0.2)], "scores on the CPU"),
        ([], "scores on the CPU"),
    ],
)
def test_else_it_says_why_not(endpoints: list[Measured], why: str) -> None:
    said = recommendation(endpoints)
    assert said.startswith("threads: cannot be told")
    assert why in said
