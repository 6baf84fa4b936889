"""The playground of an endpoint that is elsewhere: a server on this machine, which has the page and passes requests on.

The credentials stay here, so nobody but this machine's own pages and programs may ask: it listens on loopback, answers
to no other name (a site whose name is made to mean this machine is refused by its Host header), and passes nothing on
for pages of others (by their Origin).
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from decide import local, playground_page
from decide.errors import UsageError
from decide.target import Target
from decision_client import AuthenticationError, DecisionClientError, EndpointError
from decision_client.transport import CONTENT_TYPE, Transport

HOST = "127.0.0.1"
MAX_BODY_BYTES = 26_214_400
"""The most that any endpoint can be told to take."""

_ASK = "/invocations"
_IDLE_SECONDS = 75


class Playground(ThreadingHTTPServer):
    """Serves the page of one endpoint; `serve_forever` until it is interrupted."""

    daemon_threads = True

    def __init__(self, port: int, target: Target, transport: Transport) -> None:
        """Listen; 0 is any free port.

        Raises:
            UsageError: something listens there already.
        """
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UsageError(f"--port {port} cannot be had: {error.strerror}; leave it out, or say another") from error
        self.transport = transport
        self.files = playground_page.files(needs_key=False, name=str(target), client=client_of(target))
        self.names = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://{HOST}:{self.server_port}/"

    def ask(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers of what the endpoint answers to ``body``; errors as SemIf's contract tells them."""
        try:
            return 200, self.transport.send(body), {}
        except EndpointError as error:
            wait = {"Retry-After": f"{error.retry_after_seconds:.0f}"} if error.retry_after_seconds else {}
            return status_of(error), _told(str(error), retryable=error.retryable), wait
        except DecisionClientError as error:
            return 502, _told(str(error)), {}

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a browser that went away; anything else is a defect and is shown."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # what it was given


class _Handler(BaseHTTPRequestHandler):
    server: Playground
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:
        """Send a file of the page."""
        file = self.server.files.get(self.path.partition("?")[0])
        if not self._is_for_this_machine():
            return
        if file is None:
            self._send(404, _told(f"{self.path[:80]}: there is the page at /, and what it sends to {_ASK}"))
        else:
            self._send(200, file.body, file.content_type)

    def do_POST(self) -> None:
        """Pass a request on."""
        if not self._is_for_this_machine():
            return
        length = self.headers.get("Content-Length", "")
        if self.path != _ASK:
            self._refuse(404, f"{self.path[:80]}: requests go to {_ASK}")
        elif self.headers.get_content_type() != CONTENT_TYPE:
            self._refuse(415, f"Content-Type: must be {CONTENT_TYPE}, got {self.headers.get_content_type()[:80]}")
        elif not (length.isascii() and length.isdecimal()):
            self._refuse(411, "Content-Length: must say how long the body is")
        elif len(length) > 20 or int(length) > MAX_BODY_BYTES:
            self._refuse(413, f"body: more than {MAX_BODY_BYTES} bytes")
        else:
            status, body, headers = self.server.ask(self.rfile.read(int(length)))
            self._send(status, body, **headers)

    def _is_for_this_machine(self) -> bool:
        """Whether to go on; else the request has been refused."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host not in self.server.names:
            self._refuse(403, f"Host: this is {self.server.url}, and not {host[:80]!r}")
        elif origin is not None and origin.removeprefix("http://") not in self.server.names:
            self._refuse(403, f"Origin: pages of {origin[:80]!r} may not ask here")
        else:
            return True
        return False

    def _refuse(self, status: int, sentence: str) -> None:
        """Answer a request whose body was not read, so that nothing may follow it."""
        self.close_connection = True
        self._send(status, _told(sentence), Connection="close")

    def _send(self, status: int, body: bytes, content_type: str = CONTENT_TYPE, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**playground_page.HEADERS, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: the page shows what became of a request."""


def status_of(error: EndpointError) -> int:
    """The status that the page is answered for ``error``: the endpoint's, where it is one that the page can act on."""
    if isinstance(error, AuthenticationError):
        return 403  # what lacks is not the page's to give
    return error.status if error.status and error.status >= 400 else 502


def client_of(target: Target) -> str | None:
    """The Python that makes a client of ``target``; None where it is simpler to go through the playground."""
    if target.api_key or target.region or target.profile or target.environment == local.ENVIRONMENT:
        return None
    ways = {"from_environment": target.environment, "from_endpoint": target.endpoint, "from_url": target.url}
    return next(f"DecisionClient.{way}({json.dumps(name)})" for way, name in ways.items() if name)


def _told(sentence: str, *, retryable: bool = False) -> bytes:
    return json.dumps({"error": sentence, "retryable": retryable}).encode()
