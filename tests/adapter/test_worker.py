"""Health checks while clients are slow."""

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.adapter.conftest import OPTIONS, Container

PLATFORM_LIMIT_SECONDS = 2.0
DECISION = {"decision": {"id": "d", "state": "s", "question": "q", "options": OPTIONS}}


@pytest.fixture(scope="module")
def beset(start_container: Callable[..., Container], model_dir: Path) -> Iterator[Container]:
    """A container with 17 threads and three times as many clients that do not go on."""
    container = start_container(model_dir).wait_until_ready()
    beginnings = [
        b"",
        b"GET /ping HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{",
    ]
    with ExitStack() as stack:
        for beginning in beginnings * 17:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", container.port), timeout=30))
            client.sendall(beginning)
        yield container


def ping(container: Container) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", container.port, timeout=PLATFORM_LIMIT_SECONDS)
    connection.request("GET", "/ping")
    status = connection.getresponse().status
    connection.close()
    return status


def test_ping_is_answered_in_time_while_slow_clients_hold_every_thread(beset: Container) -> None:
    assert [ping(beset) for _ in range(20)] == [200] * 20


def test_ping_is_answered_on_a_connection_that_is_kept(container: Container) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", container.port, timeout=PLATFORM_LIMIT_SECONDS)
    for _ in range(3):
        connection.request("GET", "/ping")
        response = connection.getresponse()
        response.read()
        assert response.status == 200
    connection.close()


def test_requests_sent_together_are_answered_in_order(container: Container) -> None:
    # given a client that does not wait for an answer before it sends the next request
    body = json.dumps(DECISION).encode()
    invocation = (
        b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    pinged = b"GET /ping HTTP/1.1\r\nHost: x\r\n"
    with socket.create_connection(("127.0.0.1", container.port), timeout=60) as client:
        client.sendall(pinged + b"\r\n" + invocation + pinged + b"Connection: close\r\n\r\n")
        received = b""
        while chunk := client.recv(65536):
            received += chunk
    # then
    assert received.count(b"HTTP/1.1 200") == 3
    assert b'"option_ids"' in received


def test_a_request_that_arrives_in_pieces_is_answered(container: Container) -> None:
    with socket.create_connection(("127.0.0.1", container.port), timeout=60) as client:
        for piece in (b"GET /pi", b"ng HTTP/1.1\r\nHost: x\r\nConn", b"ection: close\r\n\r\n"):
            client.sendall(piece)
            time.sleep(0.05)  # so that each piece arrives by itself
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
