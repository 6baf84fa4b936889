"""The client and the decision container, as processes talk: a tiny model, real busy answers, the pages' examples."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from decision_client import (
    Backoff,
    BusyError,
    ClientSettings,
    DecisionClient,
    InvalidRequestError,
    Readout,
    SomeFailedError,
)
from tests.client.asked import OPTIONS, decision
from tests.tiny_models import write_tiny_model

PATIENCE_SECONDS = 120
MAX_SHARED = 150


@pytest.fixture(scope="module")
def container(start_container: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A container that decodes a hundred questions in a second."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_model(folder / "tiny.gguf", "attention")
    limits = {"SEMIF_MAX_SHARED_DECISIONS": str(MAX_SHARED), "SEMIF_MAX_REQUEST_TOKENS": "200000"}
    return start_container(folder, **limits).wait_until_ready()


def client_of(container: Any, **settings: Any) -> DecisionClient:
    return DecisionClient.from_url(f"http://127.0.0.1:{container.port}", settings=ClientSettings(**settings))


@contextmanager
def busy(container: Any) -> Iterator[None]:
    """A container that is scoring when the block begins; the block has to meet its busy answer."""
    outcome = 'decision_requests_total{outcome="BusyError"}'
    before = container.metric(outcome)
    state = f"The reset email never arrived. {time.monotonic()}"
    asked = [decision(str(number), state) for number in range(MAX_SHARED)]
    with client_of(container, max_shared_decisions=MAX_SHARED) as other, ThreadPoolExecutor(1) as pool:
        held = pool.submit(other.decide_many, asked)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while container.metric("decision_queue_depth") != 1:
            assert time.monotonic() < deadline, held
        yield
        assert len(held.result(PATIENCE_SECONDS)) == MAX_SHARED
    assert container.metric(outcome) > before


def test_a_result_is_read_whole(container: Any) -> None:
    with client_of(container) as client:
        told = client.decide(decision(readout=Readout(order="average", preamble="marginal")))
    assert told.model_extra == {}
    assert told.model.model_extra == {}
    assert told.model.gguf is not None
    assert told.model.gguf.file == "tiny.gguf"
    assert told.option_ids == ("account", "billing")
    assert sum(told.probabilities) == pytest.approx(1)
    assert told.orders is not None
    assert told.orders.count == 2
    assert told.preamble is not None


def test_many_have_the_results_that_each_has_alone(container: Any) -> None:
    states = ["The reset email never arrived.", {"invoice": 17}, ["ä", 1.0]]
    asked = [decision(str(number), states[number % 3], question=f"Question {number % 2}?") for number in range(9)]
    with client_of(container) as client:
        told = client.decide_many(asked)
        alone = [client.decide(one) for one in asked]
    assert [one.id for one in told] == [one.id for one in asked]
    assert [one.option_logits for one in told] == [one.option_logits for one in alone]
    assert {one.timing.batch_size for one in told if one.timing} == {3}


def test_an_event_loop_gets_them_too(container: Any) -> None:
    async def ask() -> list[str]:
        with client_of(container) as client:
            one, many = await asyncio.gather(
                client.decide_async(decision("one")), client.decide_many_async([decision("a"), decision("b", "other")])
            )
            return [result.id for result in (one, *many)]

    assert asyncio.run(ask()) == ["one", "a", "b"]


def test_a_request_that_the_container_finds_too_large_is_split(container: Any) -> None:
    asked = [decision(str(number)) for number in range(MAX_SHARED + 2)]
    with client_of(container, max_shared_decisions=1000) as client:
        told = client.decide_many(asked)
    assert [one.id for one in told] == [one.id for one in asked]
    assert {one.timing.batch_size for one in told if one.timing} == {MAX_SHARED // 2 + 1}


def test_a_decision_that_breaks_the_contract_is_told_by_the_container_and_costs_the_others_nothing(
    container: Any,
) -> None:
    asked = [decision("a"), decision("b", options=OPTIONS[:1]), decision("c")]
    with client_of(container) as client, pytest.raises(SomeFailedError) as raised:
        client.decide_many(asked)
    first, bad, last = raised.value.outcomes
    assert isinstance(bad, InvalidRequestError)
    assert str(bad).startswith("decision.options: ")
    assert [getattr(one, "id", None) for one in (first, last)] == ["a", "c"]


def test_a_busy_answer_is_retried_to_success(container: Any) -> None:
    once = Backoff(deadline_seconds=0)
    patient = Backoff(deadline_seconds=PATIENCE_SECONDS)
    with client_of(container, backoff=once) as client, client_of(container, backoff=patient) as other, busy(container):
        with pytest.raises(BusyError) as raised:
            client.decide(decision())
        assert (raised.value.status, raised.value.retry_after_seconds) == (503, 1)
        assert other.decide(decision()).option_ids == ("account", "billing")


def test_the_examples_of_the_page_run(
    container: Any, repository_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (repository_root / "client" / "README.md").read_text("utf-8")
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        here = f'DecisionClient.from_url("http://127.0.0.1:{container.port}"'
        exec(code.replace('DecisionClient.from_environment("dev"', here), names)
    assert names["choice"].rule in ("accepted", "min_option_mass", "min_probability", "min_margin")
    assert [result.id for result in names["results"]] == ["queue", "reply"]
    assert capsys.readouterr().out.count("\n") >= 2
    names["client"].close()
