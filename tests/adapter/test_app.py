"""Routes and answers, on a scorer that does as it is told."""

import io
import json
import logging
import threading
import time
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings, strategies

from decision_adapter import metrics
from decision_adapter.contracts import json_lines
from decision_adapter.decision import Decision
from decision_adapter.errors import BusyError, DeadlineError, ScoringError
from tests.adapter.obedient import PATIENCE_SECONDS, Obedient, client_of, result

OPTIONS = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]
DECISION = {"id": "d", "state": "s", "question": "q", "options": OPTIONS}


RESULT = result(Decision.model_validate(DECISION))


@pytest.fixture
def scorer() -> Obedient:
    return Obedient({"profiles": ["z", "a"]})


@pytest.fixture
def client(scorer: Obedient) -> FlaskClient:
    return client_of(lambda: scorer)


def post(client: FlaskClient, body: Any) -> tuple[int, Any]:
    response = client.post("/invocations", json=body)
    return response.status_code, response.get_json()


def test_one_decision_gets_a_result(client: FlaskClient) -> None:
    assert post(client, {"decision": DECISION}) == (200, {"result": RESULT})


def test_several_get_results_and_a_timing(client: FlaskClient) -> None:
    assert post(client, {"decisions": [DECISION, DECISION | {"id": "e"}]}) == (
        200,
        {"results": [RESULT, RESULT | {"id": "e"}], "timing": {"batch_size": 2}},
    )


def test_while_loading_it_is_not_healthy_and_refuses_work(scorer: Obedient) -> None:
    loaded = threading.Event()

    def load() -> Obedient:
        assert loaded.wait(PATIENCE_SECONDS)
        return scorer

    client = client_of(load, wait=False)
    try:
        assert client.get("/ping").status_code == 503
        status, body = post(client, {"decision": DECISION})
        assert (status, body["retryable"]) == (503, True)
        assert client.get("/metadata").status_code == 503
    finally:
        loaded.set()


def test_when_loaded_it_is_healthy(client: FlaskClient) -> None:
    assert client.get("/ping").status_code == 200


def test_metadata_is_what_the_scorer_says(client: FlaskClient) -> None:
    response = client.get("/metadata")
    assert (response.status_code, response.get_json()) == (200, {"profiles": ["z", "a"]})


def test_busy_is_retryable(client: FlaskClient, scorer: Obedient) -> None:
    scorer.failure = BusyError("busy: 1 in flight")
    response = client.post("/invocations", json={"decision": DECISION})
    assert response.status_code == 503
    assert response.get_json() == {"error": "busy: 1 in flight", "retryable": True}
    assert response.headers["Retry-After"] == "1"


def test_overrunning_is_not_retryable(client: FlaskClient, scorer: Obedient) -> None:
    scorer.failure = DeadlineError("aborted")
    assert post(client, {"decision": DECISION}) == (504, {"error": "aborted", "retryable": False})


def test_metrics_count_requests_by_outcome_and_not_health_checks(client: FlaskClient, scorer: Obedient) -> None:
    # given what was counted before
    def counted(outcome: str) -> float:
        return metrics.REGISTRY.get_sample_value("decision_requests_total", {"outcome": outcome}) or 0

    before = {outcome: counted(outcome) for outcome in ("ok", "InvalidRequestError")}
    # when one is answered, one is refused, and health is asked
    post(client, {"decision": DECISION})
    post(client, {"decision": None})
    client.get("/ping")
    # then
    assert {outcome: counted(outcome) - count for outcome, count in before.items()} == {
        "ok": 1,
        "InvalidRequestError": 1,
    }
    response = client.get("/metrics")
    assert response.content_type.startswith("text/plain; version=0.0.4")
    lines = response.get_data(as_text=True).splitlines()
    names = {line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")}
    assert names >= {
        *("decision_requests_total", "decision_queue_depth", "decision_request_seconds_bucket"),
        *("decision_prompt_tokens_total", "decision_reused_tokens_total", "process_resident_memory_bytes"),
    }


@pytest.mark.parametrize("failure", [ScoringError("secret detail"), RuntimeError("secret detail")])
def test_a_failure_is_logged_and_its_inside_not_told(
    client: FlaskClient, scorer: Obedient, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    scorer.failure = failure
    assert post(client, {"decision": DECISION}) == (500, {"error": "scoring failed"})
    assert "secret detail" in caplog.text


@pytest.mark.parametrize(
    ("headers", "got"),
    [
        ({"Content-Type": "text/plain"}, "text/plain"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "application/x-www-form-urlencoded"),
        ({}, "nothing"),
    ],
)
def test_what_is_not_declared_as_json_is_not_read(client: FlaskClient, headers: dict[str, str], got: str) -> None:
    response = client.post("/invocations", data=json.dumps({"decision": DECISION}), headers=headers)
    assert response.status_code == 415
    assert response.get_json() == {
        "error": f"Content-Type: must be application/json, or application/jsonlines on /invocations, got {got}"
    }


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/x+json"])
def test_kinds_of_json_are_json(client: FlaskClient, content_type: str) -> None:
    body = json.dumps({"decision": DECISION})
    assert client.post("/invocations", data=body, content_type=content_type).status_code == 200


OPENAI = {"model": "m", "input": "s", "questions": [{"type": "predicate", "instructions": "q"}]}


@pytest.mark.parametrize("path", ["/v1/decisions", "/invocations"])
def test_an_openai_error_has_openai_s_shape_on_both_routes(client: FlaskClient, scorer: Obedient, path: str) -> None:
    scorer.failure = BusyError("busy: 1 in flight")
    response = client.post(path, json=OPENAI)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert response.get_json()["error"]["code"] == "busy"


def test_on_openai_s_route_every_error_has_openai_s_shape(client: FlaskClient) -> None:
    bodies: list[dict[str, Any]] = [
        {"data": b"{", "content_type": "application/json"},
        {"data": b" " * 4097, "content_type": "application/json"},
        {"data": b"{}", "content_type": "text/plain"},
        {"json": {"decision": DECISION}},
    ]
    responses = [client.post("/v1/decisions", **body) for body in bodies]
    assert [response.status_code for response in responses] == [400] * 4
    codes = [response.get_json()["error"]["code"] for response in responses]
    assert codes == ["invalid_request", "too_large", "unsupported_content", "invalid_request"]


def test_the_fields_of_two_contracts_clash(client: FlaskClient) -> None:
    status, answer = post(client, OPENAI | {"decision": DECISION})
    assert status == 400
    assert "'decision' (semif) and 'input' (openai) belong to different contracts" in answer["error"]


@pytest.mark.parametrize("content_type", json_lines.CONTENT_TYPES)
def test_json_lines_are_answered_by_json_lines(client: FlaskClient, content_type: str) -> None:
    body = f"{json.dumps({'decision': DECISION})}\n7\n"
    response = client.post("/invocations", data=body, content_type=content_type)
    assert (response.status_code, response.content_type) == (200, "application/jsonlines")
    assert [json.loads(line) for line in response.get_data().splitlines()] == [
        {"result": RESULT},
        {"line": 2, "status": 400, "error": "body: must be a JSON object, got number"},
    ]


class Arriving(io.BytesIO):
    """A body that remembers when it was asked for."""

    asked_for = 0.0

    def readinto(self, buffer: Any) -> int:
        self.asked_for = self.asked_for or time.perf_counter()
        return super().readinto(buffer)


@pytest.mark.parametrize("content_type", ["application/json", "application/jsonlines"])
def test_the_deadline_counts_from_before_the_body_arrives(
    client: FlaskClient, scorer: Obedient, content_type: str
) -> None:
    # given
    body, before = json.dumps({"decision": DECISION}).encode(), time.perf_counter()
    arriving = Arriving(body)
    # when
    response = client.post("/invocations", input_stream=arriving, content_length=len(body), content_type=content_type)
    # then
    assert response.status_code == 200
    assert scorer.started is not None
    assert before <= scorer.started <= arriving.asked_for


def test_json_lines_of_a_busy_container_are_refused_as_a_whole(client: FlaskClient, scorer: Obedient) -> None:
    scorer.failure = BusyError("busy: 1 in flight")
    response = client.post(
        "/invocations", data=json.dumps({"decision": DECISION}), content_type="application/jsonlines"
    )
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert response.get_json() == {"error": "busy: 1 in flight", "retryable": True}


def test_a_body_over_the_limit_names_size_limit_and_setting(client: FlaskClient) -> None:
    response = client.post("/invocations", data=b" " * 4097, content_type="application/json")
    assert response.status_code == 413
    message = "body: 4097 bytes, at most 4096 (SEMIF_MAX_BODY_BYTES); shorten the state"
    assert response.get_json() == {"error": message}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("POST", "/v1//decisions", 404),
        ("GET", "/invocations", 405),
        ("POST", "/ping", 405),
    ],
)
def test_other_routes_and_methods_are_refused_in_json(client: FlaskClient, method: str, path: str, status: int) -> None:
    response = client.open(path, method=method)
    assert response.status_code == status
    assert response.get_json()["error"].startswith(f"{method} {path}: ")
    assert ("Allow" in response.headers) == (status == 405)


@pytest.mark.parametrize(
    ("path", "place"), [("/v1/decisions", ("error", "message")), ("/v1/systemone", ("detail", "message"))]
)
def test_a_contracts_route_refuses_other_methods_in_its_own_shape(
    client: FlaskClient, path: str, place: tuple[str, str]
) -> None:
    response = client.get(path)
    assert (response.status_code, response.headers["Allow"]) == (405, "OPTIONS, POST")
    outer, inner = place
    assert response.get_json()[outer][inner].startswith(f"GET {path}: Method Not Allowed; there are ")


def test_a_request_leaves_one_line_with_its_outcome(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        post(client, {"decision": DECISION})
        post(client, {"decision": None})
        client.get("/ping")
    lines = [vars(record)["fields"] for record in caplog.records if record.message == "request"]
    assert [(line["status"], line["outcome"]) for line in lines] == [(200, "ok"), (400, "InvalidRequestError")]
    assert all(0 <= line["seconds"] < PATIENCE_SECONDS for line in lines)


JSON = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(max_size=8),
    lambda inner: strategies.lists(inner, max_size=4) | strategies.dictionaries(strategies.text(max_size=8), inner),
    max_leaves=10,
)
FIELDS = dict.fromkeys(("id", "state", "question"), JSON) | {
    "options": JSON | strategies.lists(strategies.fixed_dictionaries({"id": JSON, "description": JSON}))
}
DECISIONS = strategies.fixed_dictionaries({}, optional=FIELDS) | JSON
QUESTIONS = strategies.fixed_dictionaries(
    {"type": strategies.sampled_from(["predicate", "choice", "score", "x"]) | JSON, "instructions": JSON},
    optional={"choices": JSON, "levels": JSON, "name": JSON, "choice": JSON, "score": JSON},
)
BODIES = strategies.fixed_dictionaries({}, optional={"decision": DECISIONS, "decisions": strategies.lists(DECISIONS)})
OPENAI_BODIES = strategies.fixed_dictionaries(
    {
        "input": JSON
        | strategies.lists(strategies.dictionaries(strategies.sampled_from(["role", "content", "type"]), JSON))
    },
    optional={"model": JSON, "questions": strategies.lists(QUESTIONS, max_size=3) | JSON},
)


@given(body=BODIES | OPENAI_BODIES | JSON)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_json_is_a_failure_of_ours(client: FlaskClient, body: Any) -> None:
    response = client.post("/invocations", data=json.dumps(body), content_type="application/json")
    assert response.status_code in (200, 400, 413)
    assert response.status_code == 200 or response.get_json()["error"]


@given(body=strategies.binary(max_size=64))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_are_a_failure_of_ours(client: FlaskClient, body: bytes) -> None:
    assert client.post("/invocations", data=body, content_type="application/json").status_code == 400


@given(
    body=strategies.lists(BODIES | OPENAI_BODIES | JSON).map(lambda bodies: "\n".join(map(json.dumps, bodies)).encode())
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_of_any_json_get_a_line_each(client: FlaskClient, body: bytes) -> None:
    response = client.post("/invocations", data=body, content_type="application/jsonlines")
    if len(body) > 4096:
        assert response.status_code == 413
    else:
        assert response.status_code == 200
        assert len(response.get_data().splitlines()) == len(body.splitlines())


@given(body=strategies.binary(max_size=64))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_of_any_bytes_get_a_line_each(client: FlaskClient, body: bytes) -> None:
    response = client.post("/invocations", data=body, content_type="application/jsonlines")
    assert response.status_code == 200
    records = [line for line in body.split(b"\n") if line.strip()]
    assert len(response.get_data().splitlines()) == len(records)
