"""The adapter over a socket, met by clients that get HTTP wrong."""

import gzip
import http.client
import json
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from tests.adapter.raw_http import DECISION, PATIENCE_SECONDS, PING, POST, Answer, answers, chunked, invocation
from tests.tiny_models import write_tiny_model

PLATFORM_LIMIT_SECONDS = 2.0
LAST_PING = b"GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def tiny(start_container: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A container whose model scores in milliseconds, with 17 threads."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_model(folder / "tiny.gguf", "attention")
    return start_container(folder).wait_until_ready()


def get(*lines: bytes) -> bytes:
    """A request for /ping with these header lines."""
    return b"GET /ping HTTP/1.1\r\nHost: x\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


NO_REQUESTS = {
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "no version": (b"GET /ping\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "HTTP/0.9": (b"GET /ping HTTP/0.9\r\n\r\n", 400),
    "a bare line feed": (b"GET /ping HTTP/1.1\nHost: x\n\n", 400),
    "a method in small letters": (b"get /ping HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "NUL in the target": (b"GET /pi\x00ng HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "a long target": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    "NUL in a header": (get(b"A: b\x00c"), 400),
    "a header without a colon": (get(b"nocolon"), 400),
    "a space in a name": (get(b"A : b"), 400),
    "a folded header": (get(b"A: b", b" c"), 400),
    "two hosts": (get(b"Host: y"), 400),
    "a long header": (get(b"A: " + b"a" * 9000), 431),
    "many headers": (get(*[b"A%d: b" % number for number in range(200)]), 431),
    "a megabyte of headers": (get(*[b"A: b"] * 180_000), 431),
    "an unknown expectation": (invocation(DECISION, b"Expect: foo"), 417),
    "an unknown transfer coding": (POST + b"Transfer-Encoding: foo\r\n\r\n", 400),
    "a coding that is not chunked": (POST + b"Transfer-Encoding: gzip\r\n\r\n", 400),
    "chunked twice": (POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    "chunks in HTTP/1.0": (b"POST /invocations HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "a length and chunks": (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + PING, 400),
    "two lengths": (POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
    "a list of lengths": (POST + b"Content-Length: 2, 2\r\n\r\n{}", 400),
    "a negative length": (POST + b"Content-Length: -2\r\n\r\n{}", 400),
    "a length with a sign": (POST + b"Content-Length: +2\r\n\r\n{}", 400),
    "a length in superscript": (POST + b"Content-Length: \xb2\r\n\r\n{}", 400),
    "a length of 5000 digits": (POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}", 400),
}


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_what_is_no_request_is_refused_in_json_and_ends_its_connection(tiny: Any, name: str) -> None:
    sent, status = NO_REQUESTS[name]
    # when it is sent with a request behind it
    [answer] = answers(tiny.port, sent, PING)
    # then that is not answered: nobody knows where it begins
    assert (answer.status, answer.closes) == (status, True)
    assert ": " in answer.error
    # and it has a name, which stands in the log
    assert f'"request_id": "{answer.headers["x-request-id"]}"' in tiny.log()


BAD_BODIES = {
    "chunks without sizes": (chunked(b"zz\r\n{}\r\n0\r\n\r\n"), 400, "body: its chunks are malformed"),
    "a negative chunk": (chunked(b"-1\r\n{}\r\n0\r\n\r\n"), 400, "body: its chunks are malformed"),
    "a chunk longer than its size": (chunked(b"2\r\n{}xx0\r\n\r\n"), 400, "body: its chunks are malformed"),
    "an endless extension": (chunked(b"2;" + b"a" * 20_000 + b"\r\n{}\r\n0\r\n\r\n"), 400, "body: its chunks"),
    "a declared length over the limit": (invocation(b" " * 300_000), 413, "body: 300000 bytes, at most 262144"),
    "a length of twenty digits": (POST + b"Content-Length: " + b"9" * 20 + b"\r\n\r\n{}", 413, "body: 99999999"),
    "chunks over the limit": (chunked(b"493e0\r\n" + b" " * 300_000 + b"\r\n0\r\n\r\n"), 413, "body: more than 262144"),
    "another type": (
        b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
        415,
        "Content-Type: must",
    ),
    "another route": (
        b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 39\r\n\r\n" + PING[:39],
        404,
        "POST /nothing",
    ),
    "malformed chunks for no one": (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
        404,
        "POST /",
    ),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_an_answer_to_a_body_that_was_not_read_is_the_last_of_its_connection(tiny: Any, name: str) -> None:
    sent, status, sentence = BAD_BODIES[name]
    [answer] = answers(tiny.port, sent, PING)
    assert (answer.status, answer.closes) == (status, True)
    assert answer.error.startswith(sentence)


READ_BODIES: dict[str, tuple[bytes, int]] = {
    "zstd": (invocation(zstd.compress(DECISION), b"Content-Encoding: zstd"), 200),
    "gzip": (invocation(gzip.compress(DECISION), b"Content-Encoding: gzip"), 200),
    "x-gzip": (invocation(gzip.compress(DECISION), b"Content-Encoding: X-GZip"), 200),
    "identity": (invocation(DECISION, b"Content-Encoding: identity"), 200),
    "zstd in chunks": (chunked(b"9\r\n%s\r\n0\r\n\r\n" % zstd.compress(b"")[:9], b"Content-Encoding: zstd"), 400),
    "an unknown encoding": (invocation(DECISION, b"Content-Encoding: br"), 415),
    "an encoding twice": (invocation(DECISION, b"Content-Encoding: zstd", b"Content-Encoding: zstd"), 415),
    "a bomb": (invocation(zstd.compress(b" " * 50_000_000), b"Content-Encoding: zstd"), 413),
    "half of it": (invocation(zstd.compress(DECISION)[:-3], b"Content-Encoding: zstd"), 400),
    "chunks with extensions": (
        chunked(b'%x;a=b;c="d"\r\n%s\r\n0;x\r\nX-T: 1\r\n\r\n' % (len(DECISION), DECISION)),
        200,
    ),
    "an expectation": (invocation(DECISION, b"Expect: 100-continue"), 200),
    "an absolute target": (b"GET http://other/ping HTTP/1.1\r\nHost: x\r\n\r\n", 200),
    "no body at all": (POST + b"\r\n", 400),
    "a script name": (get(b"SCRIPT_NAME: /elsewhere", b"X-Forwarded-Proto: https", b"X-Forwarded-Ssl: off"), 200),
    "a host that is none": (b"GET /ping HTTP/1.1\r\nHost: ..\r\n\r\n", 400),
    "an upgrade": (get(b"Connection: Upgrade", b"Upgrade: websocket"), 400),
    "an odd method": (b"TRACE /ping HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    "what may be asked": (b"OPTIONS /invocations HTTP/1.1\r\nHost: x\r\n\r\n", 200),
}


@pytest.mark.parametrize("name", READ_BODIES)
def test_after_a_request_that_was_read_the_next_one_is_answered(tiny: Any, name: str) -> None:
    sent, status = READ_BODIES[name]
    answer, pinged = answers(tiny.port, sent, LAST_PING)
    assert answer.status == status, answer.text
    assert (answer.closes, pinged.status) == (False, 200)
    assert status in (200, 405) or answer.error


def test_an_unknown_encoding_is_told_what_is_known(tiny: Any) -> None:
    answer, _ = answers(tiny.port, invocation(DECISION, b"Content-Encoding: br"), LAST_PING)
    assert answer.headers["accept-encoding"] == "zstd, gzip, identity"


def test_a_head_is_answered_without_a_body(tiny: Any) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", tiny.port, timeout=PATIENCE_SECONDS)
    for path, status in (("/ping", 200), ("/invocations", 405)):
        connection.request("HEAD", path)
        response = connection.getresponse()
        assert (response.status, response.read()) == (status, b"")
    connection.close()


def test_a_body_that_ends_early_is_refused_even_if_what_came_is_json(tiny: Any) -> None:
    [answer] = answers(tiny.port, POST + b"Content-Length: 500\r\n\r\n" + DECISION, then_end=True)
    assert (answer.status, answer.error) == (
        400,
        f"body: ends after {len(DECISION)} of the 500 bytes of its Content-Length",
    )


def test_what_follows_a_body_that_is_longer_than_declared_is_not_a_request(tiny: Any) -> None:
    first, second = answers(tiny.port, POST + b"Content-Length: 2\r\n\r\n{}" + DECISION + b"\r\n\r\n")
    assert (first.status, second.status, second.closes) == (400, 400, True)
    assert second.error.startswith("request line: ")


def test_requests_sent_together_are_answered_in_order_whatever_becomes_of_them(tiny: Any) -> None:
    encoded = invocation(zstd.compress(DECISION), b"Content-Encoding: zstd")
    found = answers(tiny.port, (PING + invocation(b"{") + encoded) * 5 + LAST_PING)
    assert [answer.status for answer in found] == [200, 400, 200] * 5 + [200]


def ping(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PLATFORM_LIMIT_SECONDS)
    connection.request("GET", "/ping")
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.fixture
def clients(tiny: Any) -> Any:
    """Connects and sends; the connections are closed at the end."""
    opened: list[socket.socket] = []

    def connect(sent: bytes) -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", tiny.port), timeout=PATIENCE_SECONDS))
        opened[-1].sendall(sent)
        return opened[-1]

    yield connect
    for client in opened:
        client.close()


def answer_of(client: socket.socket) -> Answer:
    """The one answer to a client that does not hang up before the server does."""
    response = http.client.HTTPResponse(client)
    response.begin()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, response.read(), headers)


def test_as_many_slow_clients_as_threads_are_told_that_they_are_late_and_others_are_scored_then(
    tiny: Any, clients: Callable[[bytes], socket.socket]
) -> None:
    # given clients that do not go on, some in the head and some in the body
    heads = [clients(b"POST /invocations HTTP/1.1\r\nX-Slow: ") for _ in range(9)]
    bodies = [clients(POST + b"Content-Length: 500\r\n\r\n{") for _ in range(8)]
    # when another one asks
    status, _ = tiny.request("POST", "/invocations", DECISION, Content_Type="application/json")
    # then it is scored when the time of the slow ones is over
    assert status == 200
    for client, sentence in [(head, "request: did not") for head in heads] + [
        (body, "body: did not") for body in bodies
    ]:
        answer = answer_of(client)
        assert (answer.status, answer.closes) == (408, True)
        assert answer.error.startswith(sentence + " arrive within 10 s")


def test_clients_that_do_not_hang_up_after_their_last_answer_hold_up_no_health_check(
    tiny: Any, clients: Callable[[bytes], socket.socket]
) -> None:
    # given clients that were told that their connection ends, and stay
    told = [clients(b"GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n") for _ in range(20)]
    assert [answer_of(client).status for client in told] == [200] * 20
    # then
    assert [ping(tiny.port) for _ in range(10)] == [200] * 10
    # and each connection ends
    assert [client.recv(1) for client in told] == [b""] * 20


def test_health_checks_that_announce_a_body_hold_up_no_others(
    tiny: Any, clients: Callable[[bytes], socket.socket]
) -> None:
    for _ in range(4):
        clients(b"GET /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
    assert [ping(tiny.port) for _ in range(10)] == [200] * 10


def test_a_client_that_resets_its_connection_hurts_nobody(tiny: Any, clients: Callable[[bytes], socket.socket]) -> None:
    for sent in (b"", b"GET /pi", POST + b"Content-Length: 500\r\n\r\n{", invocation(DECISION), PING * 50):
        client = clients(sent)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    assert ping(tiny.port) == 200
    lines = [json.loads(line) for line in Path(tiny._log_file).read_text().splitlines()]
    assert not [line for line in lines if line["level"] in ("error", "critical")]
