"""A small real chat server: it sends the chunks it is told to, and holds where it is told to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


class ChatServer:
    """Answers each request with ``chunks``; an `Event` among them is waited for."""

    def __init__(self, port: int, chunks: list[bytes | Event], status: int, chunked: bool) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.chunks = chunks
        self.status = status
        self.chunked = chunked
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.asked: list[Any] = []


def event(text: str, **fields: Any) -> bytes:
    """One event of a completion."""
    told = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None, **fields}]}
    return b"data: " + json.dumps(told, ensure_ascii=False).encode() + b"\n\n"


@contextmanager
def chat_server(*chunks: bytes | Event, status: int = 200, chunked: bool = True) -> Iterator[ChatServer]:
    """A server on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            server.paths.append(self.path)
            server.keys.append(self.headers.get("Authorization"))
            server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(server.status)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked") if server.chunked else self.send_header(
                "Connection", "close"
            )
            self.end_headers()
            try:
                self._send()
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _send(self) -> None:
            for chunk in server.chunks:
                if isinstance(chunk, Event):
                    chunk.wait()
                    continue
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk) if server.chunked else chunk)
                self.wfile.flush()
            if server.chunked:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # the name of the method it overrides
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server = ChatServer(http.server_port, list(chunks), status, chunked)
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
