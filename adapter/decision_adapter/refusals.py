"""What is answered to bytes that are no request: gunicorn's own refusals, as JSON."""

import json

from gunicorn.http import errors  # type: ignore[import-untyped]

from decision_adapter import request_id
from decision_adapter.arrival import ARRIVAL_SECONDS, LateRequest

_ORDINARY = (400, "request: not well-formed HTTP/1.1")
_HEADERS = "headers: at most 100, of 8190 bytes each"

REFUSALS: dict[type[Exception], tuple[int, str]] = {
    LateRequest: (408, f"request: did not arrive within {ARRIVAL_SECONDS} s"),
    errors.ExpectationFailed: (417, "Expect: must be 100-continue, or left out"),
    errors.LimitRequestLine: (414, "request line: longer than 4094 bytes; what is asked belongs in the body"),
    errors.LimitRequestHeaders: (431, _HEADERS),
    errors.InvalidRequestLine: (400, "request line: must be METHOD TARGET HTTP/1.1, as in POST /invocations HTTP/1.1"),
    errors.InvalidRequestMethod: (400, "request line: the method must be in capitals, as GET and POST"),
    errors.InvalidHTTPVersion: (400, "request line: the version must be HTTP/1.1 or HTTP/1.0"),
    errors.InvalidHeaderName: (400, "headers: a name has a character that names cannot have"),
    errors.ObsoleteFolding: (400, "headers: each must be one line"),
    # RFC 9112 would have 501 for an unknown coding. No fault of a caller's is told as one of the server's here.
    errors.UnsupportedTransferCoding: (400, "Transfer-Encoding: must be chunked, or left out"),
}
"""Status and sentence of each of gunicorn's errors that has its own; the others are ordinary bad requests."""

_FRAMING = {
    "CONTENT-LENGTH": "Content-Length: must stand once, as digits, and not beside Transfer-Encoding",
    "TRANSFER-ENCODING": "Transfer-Encoding: must be chunked, once, in HTTP/1.1",
    "HOST": "Host: must stand once",
    "CONTENT-TYPE": "Content-Type: must stand once",
}

REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    414: "URI Too Long",
    417: "Expectation Failed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
}


def refusal(error: Exception) -> tuple[int, str] | None:
    """Status and sentence for ``error``; None when it is not the caller's fault."""
    if isinstance(error, errors.InvalidResponseHeader | errors.InvalidResponseHeaderName | errors.ConfigurationProblem):
        return None
    if isinstance(error, errors.InvalidHeader):
        return 400, _FRAMING.get(str(error.hdr), "headers: each must be NAME: VALUE, in printable characters")
    if isinstance(error, errors.ParseException):
        return REFUSALS.get(type(error), _ORDINARY)
    return None


def answer(status: int, sentence: str, name: str) -> bytes:
    """The whole answer to the request of this ``name`` as it goes over the wire; the last one of its connection."""
    body = json.dumps({"error": sentence}).encode() + b"\n"
    names = "".join(f"{header}: {name}\r\n" for header in request_id.HEADERS)
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\n{names}"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
