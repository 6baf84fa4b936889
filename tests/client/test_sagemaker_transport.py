"""SageMaker and SSM through boto3, over real sockets: a small server answers as AWS does."""

import json
from collections.abc import Callable

import boto3
import pytest

from decision_client import (
    AuthenticationError,
    Backoff,
    BusyError,
    ClientSettings,
    ConfigurationError,
    DeadlineError,
    DecisionClient,
    InvalidRequestError,
    NotFoundError,
    UnreachableError,
)
from tests.client.asked import answer, decision
from tests.client.http_server import Reply, serve

ONCE = ClientSettings(backoff=Backoff(deadline_seconds=0))
PATIENT = ClientSettings(backoff=Backoff(first_seconds=0.001))
ANSWER = Reply(200, answer(json.dumps({"decision": decision().wire()}).encode()), {"Content-Type": "application/json"})
PARAMETER = Reply(200, json.dumps({"Parameter": {"Value": "decision-endpoints-dev-decision"}}).encode())


def refusal(code: str, status: int, **fields: object) -> Reply:
    body = json.dumps({"__type": code, "Message": f"{code}, it says", **fields}).encode()
    return Reply(status, body, {"Content-Type": "application/json", "x-amzn-ErrorType": code})


def model_error(status: int, message: str) -> Reply:
    return refusal("ModelError", 424, OriginalStatusCode=status, OriginalMessage=message)


BUSY = model_error(503, '{"error": "all places are taken", "retryable": true}')
THROTTLED = refusal("ThrottlingException", 400)
GONE = Reply(0)


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def session() -> boto3.Session:
    return boto3.Session(aws_access_key_id="id", aws_secret_access_key="key", region_name="eu-central-1")


ClientAt = Callable[..., DecisionClient]


@pytest.fixture
def client_at(monkeypatch: pytest.MonkeyPatch, session: boto3.Session) -> ClientAt:
    """A client of the endpoint `routing` whose AWS is at a URL."""

    def client(url: str, settings: ClientSettings = ONCE) -> DecisionClient:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        return DecisionClient.from_endpoint("routing", session=session, settings=settings)

    return client


def test_a_decision_goes_to_the_endpoint(client_at: ClientAt) -> None:
    with serve(ANSWER) as server, client_at(server.url) as client:
        assert client.decide(decision()).choice == "account"
    [received] = server.received
    assert received.path == "/endpoints/routing/invocations"
    assert received.headers["content-type"] == "application/json"
    assert json.loads(received.body)["decision"]["id"] == "d"


def test_an_environment_s_endpoint_is_found_by_its_parameter(
    monkeypatch: pytest.MonkeyPatch, session: boto3.Session
) -> None:
    with serve(PARAMETER, ANSWER) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        with DecisionClient.from_environment("dev", session=session) as client:
            client.decide(decision())
    asked, invoked = server.received
    assert json.loads(asked.body)["Name"] == "/decision-endpoints/dev/decision/endpoint-name"
    assert invoked.path == "/endpoints/decision-endpoints-dev-decision/invocations"


def test_an_environment_that_is_not_deployed_is_said_to_be_none(
    monkeypatch: pytest.MonkeyPatch, session: boto3.Session
) -> None:
    with serve(refusal("ParameterNotFound", 400)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        with pytest.raises(NotFoundError, match="check the environment's name and the region, or deploy it"):
            DecisionClient.from_environment("def", session=session)


def test_busy_throttled_and_broken_connections_are_retried_to_success(client_at: ClientAt) -> None:
    with serve(BUSY, THROTTLED, GONE, BUSY, ANSWER) as server, client_at(server.url, PATIENT) as client:
        assert client.decide(decision()).choice == "account"
    assert len(server.received) == 5


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (BUSY, BusyError, "^all places are taken\n"),
        (THROTTLED, BusyError, "ThrottlingException, it says"),
        (
            model_error(400, '{"error": "decision.options: at least 2"}'),
            InvalidRequestError,
            "^decision.options: at least 2$",
        ),
        (model_error(504, '{"error": "too long", "retryable": false}'), DeadlineError, "^too long$"),
        (model_error(0, "Your invocation timed out"), DeadlineError, "^Your invocation timed out$"),
        (refusal("ValidationError", 400), NotFoundError, "it says .*; check the endpoint's name and the region"),
        (refusal("ExpiredTokenException", 403), AuthenticationError, "log in again"),
        (GONE, UnreachableError, "check the network and the region"),
    ],
)
def test_what_goes_wrong_is_told_after_one_attempt(
    client_at: ClientAt, reply: Reply, kind: type[Exception], says: str
) -> None:
    with serve(reply) as server, client_at(server.url) as client, pytest.raises(kind, match=says):
        client.decide(decision())
    assert len(server.received) == 1


def test_without_credentials_the_next_step_is_to_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with (
        DecisionClient.from_endpoint("routing", settings=ONCE) as client,
        pytest.raises(AuthenticationError, match="log in"),
    ):
        client.decide(decision())


def test_without_a_region_the_next_step_is_to_set_one() -> None:
    with pytest.raises(ConfigurationError, match="AWS_DEFAULT_REGION"):
        DecisionClient.from_endpoint("routing")


def test_a_profile_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "gone")
    with pytest.raises(ConfigurationError, match="gone"):
        DecisionClient.from_environment("dev")
