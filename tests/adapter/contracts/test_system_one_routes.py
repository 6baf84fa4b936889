"""System One over HTTP, on a scorer that obeys: routes, errors wherever they happen, request ids, the key."""

import json
import logging
import threading
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings, strategies

from decision_adapter.errors import BusyError, DeadlineError, ScoringError
from tests.adapter.obedient import MODEL, PATIENCE_SECONDS, Obedient, client_of

NOUL = {"model": "jev-latest", "state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}}
DECISION = {"id": "d", "state": "s", "question": "q", "options": [{"id": x, "description": x} for x in "ab"]}
KEY = "k-123"
BEARER = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def scorer() -> Obedient:
    return Obedient({"model": MODEL})


@pytest.fixture
def client(scorer: Obedient) -> FlaskClient:
    return client_of(lambda: scorer)


@pytest.fixture
def locked(scorer: Obedient) -> FlaskClient:
    """A client of a container that wants a key."""
    return client_of(lambda: scorer, SEMIF_API_KEY=KEY)


@pytest.mark.parametrize("path", ["/v1/systemone", "/invocations"])
def test_both_paths_answer(client: FlaskClient, path: str) -> None:
    response = client.post(path, json=NOUL)
    answer = response.get_json()
    assert (response.status_code, answer["model"], answer["answers"]["q"]["noul"]) == (200, "tiny", 0.5)


def test_models_are_listed(client: FlaskClient) -> None:
    response = client.get("/v1/models")
    assert response.status_code == 200
    assert [entry["name"] for entry in response.get_json()["models"]] == ["tiny", "jev-latest"]


def test_a_body_of_another_contract_is_not_for_its_route(client: FlaskClient) -> None:
    response = client.post("/v1/systemone", json={"decision": DECISION})
    assert response.status_code == 422
    assert [problem["loc"] for problem in response.get_json()["detail"]] == [
        ["body", name] for name in ("model", "state", "questions")
    ]


def test_a_body_of_two_contracts_is_told_which_fields_clash(client: FlaskClient) -> None:
    response = client.post("/invocations", json=NOUL | {"decision": DECISION})
    assert response.status_code == 400
    assert response.get_json()["error"].startswith("body: 'decision' (semif) and 'state' (system-one) belong to")


@pytest.mark.parametrize(
    ("sent", "loc", "message"),
    [
        (b'{"model": ', ["body"], "not JSON: Expecting value at character 10"),
        (b"[]", ["body"], "must be a JSON object, got array"),
        (b'{"state": "\xff"}', ["body"], "not UTF-8 at byte 11"),
        (b'{"state": NaN}', ["body"], "NaN is not a JSON number"),
        (
            rb'{"state": {"a": ["\ud800"]}}',
            ["body", "state", "a", 0],
            "holds half of a surrogate pair, which is no character",
        ),
    ],
)
def test_what_is_no_json_is_told_in_its_shape(client: FlaskClient, sent: bytes, loc: list[Any], message: str) -> None:
    response = client.post("/v1/systemone", data=sent, content_type="application/json")
    assert response.status_code == 422
    assert response.get_json() == {"detail": [{"loc": loc, "msg": message, "type": "json_invalid"}]}


def refusal(client: FlaskClient, path: str = "/v1/systemone", **request: Any) -> tuple[int, str]:
    """Status and error type of the answer to ``request``, a valid one unless it says otherwise."""
    response = client.post(path, **({"json": NOUL} | request))
    detail = response.get_json()["detail"]
    assert set(detail) == {"error_type", "message"}
    return response.status_code, detail["error_type"]


def test_other_content_types_and_long_bodies_are_told_in_its_shape(client: FlaskClient) -> None:
    multipart = {"json": None, "data": b"--x", "content_type": "multipart/form-data; boundary=x"}
    assert refusal(client, **multipart) == (415, "unsupported_media_type")
    assert refusal(client, json=NOUL | {"x": "x" * 5000}) == (413, "max_tokens_exceeded")


@pytest.mark.parametrize("path", ["/v1/systemone", "/invocations"])
@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (BusyError("busy"), (503, "overloaded_error")),
        (DeadlineError("aborted"), (504, "timeout_error")),
        (ScoringError("secret detail"), (500, "api_error")),
        (RuntimeError("secret detail"), (500, "api_error")),
    ],
)
def test_failures_are_told_in_its_shape_on_both_paths(
    client: FlaskClient, scorer: Obedient, path: str, failure: Exception, told: tuple[int, str]
) -> None:
    scorer.failure = failure
    assert refusal(client, path) == told
    assert b"secret" not in client.post(path, json=NOUL).data


def test_busy_says_in_two_headers_when_to_come_again(client: FlaskClient, scorer: Obedient) -> None:
    scorer.failure = BusyError("busy")
    headers = client.post("/v1/systemone", json=NOUL).headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("1", "1000")


def test_while_loading_it_asks_to_come_again(scorer: Obedient) -> None:
    loaded = threading.Event()

    def load() -> Obedient:
        assert loaded.wait(PATIENCE_SECONDS)
        return scorer

    client = client_of(load, wait=False)
    try:
        assert refusal(client) == (503, "overloaded_error")
        response = client.get("/v1/models")
        assert (response.status_code, response.headers["retry-after-ms"]) == (503, "5000")
    finally:
        loaded.set()


# --- request ids


def test_every_answer_has_an_id_of_its_own(client: FlaskClient, scorer: Obedient) -> None:
    scorer.failure = RuntimeError("boom")
    responses = [
        *(client.get(path) for path in ("/ping", "/metrics", "/metadata", "/v1/models", "/nothing", "/invocations")),
        *(client.post("/invocations", json=body) for body in (NOUL, {"decision": DECISION}, {}, [])),
        client.post("/v1/systemone", data=b"x"),
    ]
    ids = [response.headers["x-typesafe-request-id"] for response in responses]
    assert {response.status_code for response in responses} == {200, 400, 404, 405, 415, 500}
    assert len(set(ids)) == len(ids)


def test_the_id_stands_in_the_log(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        response = client.post("/v1/systemone", json=NOUL)
    [line] = [vars(record)["fields"] for record in caplog.records if record.message == "request"]
    assert line["request_id"] == response.headers["x-typesafe-request-id"]


# --- the key


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/invocations"),
        ("POST", "/v1/systemone"),
        ("GET", "/v1/models"),
        ("GET", "/metadata"),
        ("GET", "/nothing"),
        ("GET", "/ping/"),
    ],
)
@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": b"Bearer \xff\xfe".decode("latin-1")}]
)
def test_with_a_key_all_that_scores_or_describes_wants_it(
    locked: FlaskClient, method: str, path: str, headers: dict[str, str]
) -> None:
    response = locked.open(path, method=method, headers=headers)
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert KEY.encode() not in response.data


@pytest.mark.parametrize("path", ["/ping", "/metrics"])
def test_watching_needs_no_key(locked: FlaskClient, path: str) -> None:
    assert locked.get(path).status_code == 200


def test_with_the_key_all_is_answered(locked: FlaskClient) -> None:
    assert locked.post("/v1/systemone", json=NOUL, headers=BEARER).status_code == 200
    assert locked.post("/invocations", json={"decision": DECISION}, headers=BEARER).status_code == 200
    assert locked.get("/v1/models", headers=BEARER).status_code == 200


def test_a_missing_key_is_told_in_the_shape_of_the_route(locked: FlaskClient) -> None:
    assert refusal(locked) == (401, "authentication_error")
    assert set(locked.post("/invocations", json=NOUL).get_json()) == {"error"}


def test_without_a_key_any_authorization_is_accepted(client: FlaskClient) -> None:
    for header in ("Bearer anything", "Basic eA==", b"\xff".decode("latin-1")):
        assert client.post("/v1/systemone", json=NOUL, headers={"Authorization": header}).status_code == 200


def test_the_key_is_never_logged(locked: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for headers in (BEARER, {"Authorization": f"Bearer {KEY}x"}, {}):
            locked.post("/v1/systemone", json=NOUL, headers=headers)
    assert len([record for record in caplog.records if record.message == "request"]) == 3
    assert not [record for record in caplog.records if KEY in str(vars(record))]


# --- whatever is sent

JSON = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(max_size=8),
    lambda inner: strategies.lists(inner, max_size=4) | strategies.dictionaries(strategies.text(max_size=8), inner),
    max_leaves=10,
)
CONTENT = strategies.text(max_size=4) | strategies.lists(JSON, max_size=2) | strategies.none()
QUESTIONS = strategies.one_of(
    strategies.fixed_dictionaries(
        {"type": strategies.just("noul"), "instructions": CONTENT}, optional={"criteria": JSON}
    ),
    strategies.fixed_dictionaries(
        {"type": strategies.just("choice"), "criteria": strategies.dictionaries(strategies.text(max_size=4), CONTENT)}
    ),
    strategies.fixed_dictionaries(
        {"type": strategies.just("score"), "criteria": strategies.lists(CONTENT, max_size=11)}
    ),
    strategies.fixed_dictionaries({"type": JSON, "criteria": JSON}),
    JSON,
)
BODIES = strategies.fixed_dictionaries(
    {"model": strategies.just("jev-latest"), "state": JSON | strategies.just("s")},
    optional={"questions": strategies.dictionaries(strategies.text(max_size=4), QUESTIONS, max_size=3), "assets": JSON},
)


@given(body=BODIES | JSON, path=strategies.sampled_from(["/v1/systemone", "/invocations"]))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_json_is_a_failure_of_ours(client: FlaskClient, body: Any, path: str) -> None:
    response = client.post(path, data=json.dumps(body), content_type="application/json")
    assert response.status_code in (200, 400, 413, 422)
    if response.status_code == 200:
        assert set(response.get_json()["answers"]) == set(body["questions"])
