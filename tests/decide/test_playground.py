"""`decide playground`: the page on this machine, the endpoint elsewhere."""

import http.client
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import expect

from decide import playground_page
from decide.playground import Playground, client_of
from decide.target import Target
from decision_client import (
    AuthenticationError,
    BusyError,
    ConfigurationError,
    DeadlineError,
    DecisionClientError,
    InvalidRequestError,
    UnexpectedAnswerError,
    UnreachableError,
)
from tests.browser import browser, pages
from tests.decide.command import PATIENCE_SECONDS, decide, environment

OPTIONS = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]
BODY = json.dumps({"decision": {"id": "d", "state": "s", "question": "q", "options": OPTIONS}}).encode()
JSON = {"Content-Type": "application/json"}
TARGET = Target(url="http://127.0.0.1:1")


class Told:
    """A transport that fails as it is told, or gives back what it was sent."""

    def __init__(self, error: DecisionClientError | None = None) -> None:
        self.error = error

    def send(self, body: bytes) -> bytes:
        if self.error:
            raise self.error
        return body

    def close(self) -> None:
        """There is nothing to close."""


@contextmanager
def playground(transport: Told) -> Iterator[Playground]:
    with Playground(0, TARGET, transport) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def echo() -> Iterator[Playground]:
    with playground(Told()) as server:
        yield server


def request(
    server: Playground, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, Any, Mapping[str, str]]:
    """Status, body (of an error, its sentence) and headers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        text = answer.read()
        told = json.loads(text)["error"] if answer.status >= 400 else text
        return answer.status, told, dict(answer.headers)
    finally:
        connection.close()


def test_it_serves_the_page_and_passes_requests_on(echo: Playground) -> None:
    for path, file in echo.files.items():
        status, body, headers = request(echo, "GET", path)
        assert (status, body, headers["Content-Type"]) == (200, file.body, file.content_type)
        assert dict(playground_page.HEADERS).items() <= headers.items()
    assert request(echo, "POST", "/invocations", BODY, JSON)[:2] == (200, BODY)
    same_origin = JSON | {"Origin": f"http://localhost:{echo.server_port}", "Host": f"localhost:{echo.server_port}"}
    assert request(echo, "POST", "/invocations", BODY, same_origin)[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "told"),
    [
        ("GET", "/", {"Host": "rebound.example"}, 403, "Host: "),
        ("GET", "/", {"Host": "127.0.0.1"}, 403, "Host: "),
        ("POST", "/invocations", JSON | {"Host": "rebound.example:80"}, 403, "Host: "),
        ("POST", "/invocations", JSON | {"Origin": "http://other.example"}, 403, "Origin: "),
        ("POST", "/invocations", JSON | {"Origin": "http://127.0.0.1:1"}, 403, "Origin: "),
        ("POST", "/invocations", JSON | {"Origin": "null"}, 403, "Origin: "),
        ("POST", "/invocations", {"Content-Type": "text/plain"}, 415, "Content-Type: "),
        ("POST", "/invocations", JSON | {"Content-Length": "-1"}, 411, "Content-Length: "),
        ("POST", "/invocations", JSON | {"Content-Length": "9" * 30}, 413, "body: "),
        ("POST", "/other", JSON, 404, "/other: "),
        ("GET", "/../playground.py", {}, 404, "/../playground.py: "),
        ("GET", "/playground/__init__.py", {}, 404, "/playground/__init__.py: "),
    ],
)
def test_who_is_not_this_machines_page_or_program_is_refused(
    method: str, path: str, headers: dict[str, str], status: int, told: str
) -> None:
    with playground(Told(ConfigurationError("never asked"))) as server:
        answered, sentence, _ = request(server, method, path, BODY if method == "POST" else None, headers)
    assert (answered, sentence[: len(told)]) == (status, told)


@pytest.mark.parametrize(
    ("error", "status", "retryable", "wait"),
    [
        (BusyError("busy", status=503, retry_after_seconds=2.0), 503, True, "2"),
        (BusyError("throttled", status=429), 429, True, None),
        (UnreachableError("nothing answers"), 502, True, None),
        (InvalidRequestError("decision.id: is required", status=400), 400, False, None),
        (AuthenticationError("the key is missing", status=401), 403, False, None),
        (AuthenticationError("no credentials"), 403, False, None),
        (DeadlineError("60 s are over", status=0), 502, False, None),
        (UnexpectedAnswerError("no endpoint", status=200), 502, False, None),
        (ConfigurationError("no region"), 502, False, None),
    ],
)
def test_the_clients_errors_are_told_as_the_container_tells_them(
    error: DecisionClientError, status: int, retryable: bool, wait: str | None
) -> None:
    with playground(Told(error)) as server:
        answered, body, headers = server.ask(BODY)
        sent, sentence, told = request(server, "POST", "/invocations", BODY, JSON)
    assert (answered, json.loads(body)) == (status, {"error": str(error), "retryable": retryable})
    assert headers.get("Retry-After") == told.get("Retry-After") == wait
    assert (sent, sentence) == (status, str(error))


def test_nothing_is_said_of_a_browser_that_went_away(capfd: pytest.CaptureFixture[str]) -> None:
    asked, let_go, ended = threading.Event(), threading.Event(), threading.Event()

    class Slow(Told):
        def send(self, body: bytes) -> bytes:
            asked.set()
            assert let_go.wait(PATIENCE_SECONDS)
            return b"x" * 10_000_000

    class Watched(Playground):
        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            ended.set()

    with Watched(0, TARGET, Slow()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # given a request that is under way
        with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
            head = f"POST /invocations HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
            connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode())
            assert asked.wait(PATIENCE_SECONDS)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # when its answer comes after it was cancelled
        let_go.set()
        assert ended.wait(PATIENCE_SECONDS)
        server.shutdown()
    # then
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("target", "client"),
    [
        (Target(environment="dev"), 'DecisionClient.from_environment("dev")'),
        (Target(endpoint="n"), 'DecisionClient.from_endpoint("n")'),
        (Target(url="http://h:1"), 'DecisionClient.from_url("http://h:1")'),
        (Target(url="http://h:1", api_key="k"), None),
        (Target(environment="local"), None),
        (Target(environment="dev", region="eu-west-1"), None),
        (Target(endpoint="n", profile="p"), None),
    ],
)
def test_the_python_of_the_page_asks_the_endpoint_where_it_can(target: Target, client: str | None) -> None:
    assert client_of(target) == client


@contextmanager
def started(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The command and the address that it printed."""
    command = [sys.executable, "-m", "decide", "playground", "--no-open", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            if process.poll() is None:
                process.kill()


def test_the_page_scores_with_the_endpoint_that_was_named_until_ctrl_c(url: str) -> None:
    with started("--url", url) as (process, address), browser() as chromium:
        with pages(chromium) as open_page:
            page = open_page(address)
            expect(page.locator("#endpoint")).to_contain_text(url)
            page.keyboard.press("Control+Enter")
            expect(page.get_by_role("status")).to_contain_text("Answered in")
            expect(page.locator(".bars li")).to_have_count(3)
            page.get_by_label("Id of option 2").fill("account")
            page.keyboard.press("Control+Enter")
            expect(page.get_by_role("alert")).to_contain_text("decision.options[1].id: 'account' is already")
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert messages.splitlines() == [f"The playground of {url}; Ctrl-C ends it.", "Ended."]


def test_a_port_that_is_taken_is_told(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = decide("playground", "--url", url, "--no-open", "--port", str(port))
    assert (ended.status, ended.out) == (2, "")
    assert f"--port {port} cannot be had: Address already in use" in ended.err


def test_an_endpoint_that_cannot_be_named_is_told_before_a_page_is_served() -> None:
    ended = decide("playground", "--no-open")
    assert (ended.status, ended.out) == (2, "")
    assert "say which endpoint" in ended.err
