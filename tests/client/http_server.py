"""A small real HTTP server that answers as it is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass(frozen=True)
class Reply:
    """An answer; status 0 is none at all: the connection is closed."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Received:
    """A request; header names are lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


class Server:
    """Gives each reply once, in order, and the last one from then on."""

    def __init__(self, port: int, replies: list[Reply]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.replies = replies
        self.received: list[Received] = []

    def reply(self, request: Received) -> Reply:
        self.received.append(request)
        return self.replies[min(len(self.received), len(self.replies)) - 1]


@contextmanager
def serve(*replies: Reply) -> Iterator[Server]:
    """A server on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", "0")))
            told = server.reply(Received(self.path, headers, body))
            if told.status == 0:
                self.close_connection = True
                return
            self.send_response(told.status)
            for name, value in (told.headers | {"Content-Length": str(len(told.body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(told.body)

        def log_message(self, format: str, *args: object) -> None:  # the name of the method it overrides
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server = Server(http.server_port, list(replies))
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
