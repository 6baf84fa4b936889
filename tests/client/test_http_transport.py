"""A container's URL, over real sockets."""

import json
import socket
import threading

import pytest

from decision_client import (
    Backoff,
    BusyError,
    ClientSettings,
    ConfigurationError,
    DecisionClient,
    InvalidRequestError,
    UnexpectedAnswerError,
    UnreachableError,
)
from tests.client.asked import answer, decision
from tests.client.http_server import Reply, serve

ONCE = ClientSettings(backoff=Backoff(deadline_seconds=0))
PATIENT = ClientSettings(backoff=Backoff(first_seconds=0.001))
ANSWER = Reply(200, answer(json.dumps({"decision": decision().wire()}).encode()))
BUSY = Reply(503, b'{"error": "all places are taken", "retryable": true}', {"Retry-After": "0"})
GONE = Reply(0)


def test_a_decision_goes_to_invocations_with_the_key() -> None:
    with serve(ANSWER) as server, DecisionClient.from_url(f"{server.url}/", api_key="secret") as client:
        assert client.decide(decision(state="ä")).choice == "account"
    [received] = server.received
    assert received.path == "/invocations"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["authorization"] == "Bearer secret"
    assert json.loads(received.body)["decision"]["state"] == "ä"


def test_without_a_key_none_is_sent() -> None:
    with serve(ANSWER) as server, DecisionClient.from_url(server.url) as client:
        client.decide(decision())
    assert "authorization" not in server.received[0].headers


def test_busy_and_broken_connections_are_retried_to_success() -> None:
    with serve(BUSY, GONE, BUSY, ANSWER) as server, DecisionClient.from_url(server.url, settings=PATIENT) as client:
        assert client.decide(decision()).choice == "account"
    assert len(server.received) == 4


def test_busy_is_told_with_when_to_come_again() -> None:
    with (
        serve(Reply(503, BUSY.body, {"Retry-After": "5"})) as server,
        DecisionClient.from_url(server.url, settings=ONCE) as client,
        pytest.raises(BusyError, match="all places are taken") as raised,
    ):
        client.decide(decision())
    assert (raised.value.status, raised.value.retry_after_seconds) == (503, 5)


def test_a_refusal_is_told_once_with_its_sentence() -> None:
    refusal = Reply(400, b'{"error": "decision.options: at least 2"}')
    with (
        serve(refusal) as server,
        DecisionClient.from_url(server.url) as client,
        pytest.raises(InvalidRequestError, match=r"^decision.options: at least 2$"),
    ):
        client.decide(decision())
    assert len(server.received) == 1


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with (
        serve(Reply(307, b"elsewhere", {"Location": "http://127.0.0.1:1/"})) as server,
        DecisionClient.from_url(server.url, api_key="secret") as client,
        pytest.raises(UnexpectedAnswerError, match=r"redirects to http://127\.0\.0\.1:1/, "),
    ):
        client.decide(decision())


def test_nobody_at_the_url_is_told_with_the_url() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with (
            DecisionClient.from_url(url, settings=ONCE) as client,
            pytest.raises(UnreachableError, match=f"{url} cannot be reached: .*; is the container running"),
        ):
            client.decide(decision())


def test_an_answer_that_does_not_come_ends_after_the_read_time_out() -> None:
    settings = ClientSettings(read_seconds=0.1, backoff=Backoff(deadline_seconds=0))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        held: list[socket.socket] = []
        accepting = threading.Thread(target=lambda: held.append(silent.accept()[0]))
        accepting.start()
        with (
            DecisionClient.from_url(f"http://127.0.0.1:{silent.getsockname()[1]}", settings=settings) as client,
            pytest.raises(UnreachableError, match="timed out"),
        ):
            client.decide(decision())
        accepting.join()
        held[0].close()


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080", "ftp://host", "http://", "http://host/?a=b", "http://[::1"])
def test_what_is_no_base_url_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"as in http://127\.0\.0\.1:8080"):
        DecisionClient.from_url(url)


def test_a_url_with_a_password_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="no user and password") as raised:
        DecisionClient.from_url("http://me:secret@127.0.0.1:8080")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("key", ["", "secret\n", "two words", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match=r"api_key \(not shown\): must be printable") as raised:
        DecisionClient.from_url("http://127.0.0.1:8080", api_key=key)
    assert not key or key not in str(raised.value)
