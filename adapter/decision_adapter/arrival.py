"""How long a request may take to arrive, so that no client keeps a thread by sending slowly."""

import time

from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]
from gunicorn.http.unreader import SocketUnreader  # type: ignore[import-untyped]

ARRIVAL_SECONDS = 10
"""For a request from its first byte to its last. The platform sends it in milliseconds, and a slow line still brings
the largest body of the default settings; as many slow clients as there are threads hold up the others for so long."""


class LateRequest(ParseException):  # type: ignore[misc]  # gunicorn has no types
    """The request, or what is missing of it, did not arrive in time."""


class TimedUnreader(SocketUnreader):  # type: ignore[misc]
    """Where gunicorn's parser gets a connection's bytes from, with a time limit for each request.

    Raises:
        LateRequest: from any read, when the time is over.
    """

    def start_request(self) -> None:
        """Let the time begin for the next request."""
        self._deadline = time.monotonic() + ARRIVAL_SECONDS

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The bytes that arrive next, b"" at the end."""
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise LateRequest
        before = self.sock.gettimeout()
        try:
            self.sock.settimeout(remaining)
            received: bytes = super().chunk(size_hint)
        except TimeoutError as error:
            raise LateRequest from error
        finally:
            self.sock.settimeout(before)
        return received
