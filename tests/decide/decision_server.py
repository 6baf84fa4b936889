"""A small real decision endpoint: it answers at once, or holds the requests that are about a held state."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Semaphore, Thread

from tests.client.asked import answer, ids

HELD = "held"
"""A state that is answered when the server is told to."""


class DecisionServer:
    """What it was asked, and when it goes on."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[list[str]] = []
        """The ids of each request's decisions."""
        self.holds = Semaphore(0)
        """Released once for each request that is held."""
        self.go_on = Event()
        self.hold_from: int | None = None
        """Requests after so many are held, too."""
        self.refusal: tuple[int, bytes] | None = None
        """Instead of an answer."""


@contextmanager
def decision_server() -> Iterator[DecisionServer]:
    """A server on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.asked.append(ids(body))
            late = server.hold_from is not None and len(server.asked) > server.hold_from
            if late or HELD in json.dumps(json.loads(body)):
                server.holds.release()
                server.go_on.wait()
            status, told = server.refusal or (200, answer(body))
            with suppress(BrokenPipeError, ConnectionResetError):  # a command that was ended does not wait
                self.send_response(status)
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

        def log_message(self, format: str, *args: object) -> None:  # the name of the method it overrides
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server = DecisionServer(http.server_port)
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.go_on.set()
            http.shutdown()
            thread.join()
