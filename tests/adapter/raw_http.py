"""HTTP by hand, for what a well-behaved client would not send."""

import http.client
import io
import json
import socket
from dataclasses import dataclass
from typing import Any

PATIENCE_SECONDS = 60

OPTIONS = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]
DECISION = json.dumps({"decision": {"id": "d", "state": "s", "question": "q", "options": OPTIONS}}).encode()
PING = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True)
class Answer:
    """One answer of a connection; ``closes`` says what its head says."""

    status: int
    text: bytes
    headers: dict[str, str]

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "").lower() == "close"

    @property
    def error(self) -> str:
        """The sentence of an answer in SemIf's shape."""
        body: dict[str, Any] = json.loads(self.text)
        assert isinstance(body["error"], str)
        return body["error"]


def invocation(body: bytes, *headers: bytes) -> bytes:
    """A whole request for ``body``."""
    lines = b"".join(header + b"\r\n" for header in headers)
    return POST + lines + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def chunked(chunks: bytes, *headers: bytes) -> bytes:
    """A whole request whose body is ``chunks`` as they go over the wire."""
    return POST + b"".join(header + b"\r\n" for header in (*headers, b"Transfer-Encoding: chunked")) + b"\r\n" + chunks


class _Received:
    """What http.client reads an answer from."""

    def __init__(self, received: io.BytesIO) -> None:
        self._received = received

    def makefile(self, *_: object) -> io.BytesIO:
        return self._received


def answers(port: int, *pieces: bytes, then_end: bool = False) -> list[Answer]:
    """Everything that is answered to ``pieces``, up to the end of the connection.

    The server has to end it, unless ``then_end`` lets it know that nothing more will come. To the adapter that is a
    client that hung up: what it asked for is not scored.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as client:
        for piece in pieces:
            client.sendall(piece)
        if then_end:
            client.shutdown(socket.SHUT_WR)
        received = client.makefile("rb").read()
    return parsed(received)


def parsed(received: bytes) -> list[Answer]:
    """The answers in ``received``, the interim ones left out."""
    stream, found = io.BytesIO(received), list[Answer]()
    while stream.tell() < len(received):
        response = http.client.HTTPResponse(_Received(stream))  # type: ignore[arg-type]
        response.fp.close = lambda: None  # type: ignore[method-assign]
        response.begin()
        text = response.read()
        found.append(Answer(response.status, text, {name.lower(): value for name, value in response.getheaders()}))
    return found
