"""Clients that people use, each as they use it: the `openai` package and curl, against a tiny model."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.tiny_models import write_tiny_model

PATIENCE_SECONDS = 120
RETRIES = 100
STATE = "The reset email never arrived."
PREDICATE = {"type": "predicate", "instructions": "The customer can log in."}
CHOICE = {
    "type": "choice",
    "name": "queue",
    "instructions": "Which queue?",
    "choices": [{"value": "a"}, {"value": True}],
}
SCORE = {"type": "score", "name": "harm", "instructions": "How bad?", "levels": [{"label": "low"}, {"label": "high"}]}


@pytest.fixture(scope="module")
def tiny(start_container: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A container that decodes a hundred questions in a second, and may be asked as many as the contract allows."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_model(folder / "tiny.gguf", "attention")
    return start_container(folder, SEMIF_MAX_REQUEST_TOKENS="200000").wait_until_ready()


def client_of(container: Any, max_retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=f"http://127.0.0.1:{container.port}/v1",
        api_key="any",
        max_retries=max_retries,
        timeout=PATIENCE_SECONDS,
    )


@pytest.fixture
def client(tiny: Any) -> Iterator[openai.OpenAI]:
    with client_of(tiny) as client:
        yield client


def decide(client: openai.OpenAI, *questions: Any, state: Any = STATE) -> Any:
    return client.decisions.create(model="gpt-6-luna", input=state, questions=list(questions))


@contextmanager
def busy(container: Any) -> Iterator[None]:
    """A container that is scoring 400 questions when the block begins; the block has to meet its busy answer."""
    outcome = 'decision_requests_total{outcome="BusyError"}'
    before = container.metric(outcome)
    with client_of(container) as other, ThreadPoolExecutor(1) as pool:
        held = pool.submit(decide, other, *[PREDICATE] * 400, state=f"{STATE} {time.monotonic()}" * 10)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while container.metric("decision_queue_depth") != 1:
            assert time.monotonic() < deadline, held
        yield
        assert len(held.result(PATIENCE_SECONDS).answers) == 400
    assert container.metric(outcome) > before


def test_openai_reads_each_kind_of_answer(tiny: Any, client: openai.OpenAI) -> None:
    decision = decide(client, PREDICATE, CHOICE, SCORE)
    predicate, choice, score = decision.answers
    assert decision.model == "tiny"
    assert f'"request_id": "{decision._request_id}"' in tiny.log()
    assert (predicate.type, predicate.name) == ("predicate", None)
    assert 0 < predicate.probability < 1
    assert (choice.type, choice.name, [one.value for one in choice.probabilities]) == ("choice", "queue", ["a", True])
    assert choice.choice in ("a", True)
    assert (score.type, score.name) == ("score", "harm")
    assert [(one.value, one.label) for one in score.probabilities] == [(0, "low"), (1, "high")]
    assert score.score == pytest.approx(score.probabilities[1].probability)
    for answer in (choice, score):
        assert 0 <= answer.confidence <= 1
        assert sum(one.probability for one in answer.probabilities) == pytest.approx(1)


def test_openai_gets_400_answers_in_order_and_the_tokens_of_one_state(client: openai.OpenAI) -> None:
    # given 400 questions about a state that was asked about before
    state = f"{STATE} " * 10
    first = decide(client, PREDICATE, state=state)
    questions = [PREDICATE | {"name": f"n{index}"} for index in range(400)]
    # when
    decision = decide(client, *questions, state=state)
    # then each is answered as the one that was asked alone
    assert [answer.name for answer in decision.answers] == [question["name"] for question in questions]
    assert {answer.probability for answer in decision.answers} == {first.answers[0].probability}
    # and the state, found in memory, is counted once
    usage, once = decision.usage, first.usage.input_tokens
    assert usage.total_tokens == usage.input_tokens < 400 * once - 399 * len(state) // 2
    assert 0 < usage.input_tokens_details.cached_tokens < once
    assert (usage.output_tokens, usage.output_tokens_details.reasoning_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("question", "state", "code", "param"),
    [
        (PREDICATE | {"instructions": ""}, STATE, "invalid_request", "questions[0].instructions"),
        (PREDICATE, [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}], None, None),
        (PREDICATE, "word " * 10_000, "too_large", None),
    ],
)
def test_openai_raises_bad_request_for_what_has_to_be_changed(
    client: openai.OpenAI, question: Any, state: Any, code: str | None, param: str | None
) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        decide(client, question, state=state)
    assert raised.value.code == (code or "invalid_request")
    assert raised.value.param == (param or (None if code else "input[0].content[0]"))
    assert raised.value.type == "invalid_request_error"


def test_openai_raises_not_found_for_what_is_not_there(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
    assert "POST /v1/decisions" in str(raised.value.body)


def test_openai_retries_the_busy_answer_to_success(tiny: Any, client: openai.OpenAI) -> None:
    with busy(tiny):
        with pytest.raises(openai.InternalServerError) as raised:
            decide(client, PREDICATE)
        assert (raised.value.status_code, raised.value.code) == (503, "busy")
        with client_of(tiny, RETRIES) as patient:
            assert len(decide(patient, PREDICATE).answers) == 1


def curl(container: Any, path: str, content_type: str, body: str, answer: Path, *options: str) -> int:
    """The status of the answer, whose body is then in ``answer``."""
    command = ["curl", "--silent", "--show-error", "--output", str(answer), "--write-out", "%{http_code}", *options]
    address = ["--header", f"Content-Type: {content_type}", "--data-binary", "@-"]
    url = f"http://127.0.0.1:{container.port}{path}"
    run = subprocess.run([*command, *address, url], input=body, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return int(run.stdout)


SEMIF = {
    "decision": {
        "id": "d",
        "state": STATE,
        "question": "Which queue?",
        "options": [{"id": "a", "description": "Account."}, {"id": "b", "description": "Billing."}],
    }
}
OPENAI = {"model": "m", "input": STATE, "questions": [PREDICATE]}


@pytest.mark.parametrize(
    ("path", "body", "field"), [("/invocations", SEMIF, "result"), ("/v1/decisions", OPENAI, "answers")]
)
def test_curl_is_answered(tiny: Any, tmp_path: Path, path: str, body: Any, field: str) -> None:
    answer = tmp_path / "answer.json"
    assert curl(tiny, path, "application/json", json.dumps(body), answer) == 200
    assert field in json.loads(answer.read_text())


def test_curl_sends_lines_and_gets_lines(tiny: Any, tmp_path: Path) -> None:
    answer = tmp_path / "answer.jsonl"
    body = f"{json.dumps(SEMIF)}\n{{}}\n{json.dumps(OPENAI)}\n"
    assert curl(tiny, "/invocations", "application/jsonlines", body, answer) == 200
    decided, refused, answered = map(json.loads, answer.read_text().splitlines())
    assert decided["result"]["id"] == "d"
    assert (refused["line"], refused["status"]) == (2, 400)
    assert answered["answers"][0]["type"] == "predicate"


def test_curl_retries_the_busy_answer_to_success(tiny: Any, tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    with busy(tiny):
        status = curl(tiny, "/invocations", "application/json", json.dumps(SEMIF), answer, "--retry", str(RETRIES))
    assert status == 200
    assert json.loads(answer.read_text())["result"]["id"] == "d"
