"""What is answered to bytes that are no request."""

import json

import pytest
from gunicorn.http import errors

from decision_adapter.arrival import LateRequest
from decision_adapter.refusals import REASONS, answer, refusal

EXAMPLES: list[tuple[Exception, int, str]] = [
    (errors.InvalidRequestLine("GET\x00"), 400, "request line: must be"),
    (errors.InvalidRequestMethod("get"), 400, "request line: the method"),
    (errors.InvalidHTTPVersion((3, 0)), 400, "request line: the version"),
    (errors.InvalidHeader("CONTENT-LENGTH"), 400, "Content-Length: must stand once"),
    (errors.InvalidHeader("TRANSFER-ENCODING"), 400, "Transfer-Encoding: must be chunked"),
    (errors.InvalidHeader("secret"), 400, "headers: each must be NAME: VALUE"),
    (errors.InvalidHeaderName("a b"), 400, "headers: a name"),
    (errors.ObsoleteFolding("A"), 400, "headers: each must be one line"),
    (errors.UnsupportedTransferCoding("foo"), 400, "Transfer-Encoding: must be chunked"),
    (errors.ExpectationFailed("foo"), 417, "Expect: "),
    (errors.LimitRequestLine(5000, 4094), 414, "request line: longer than"),
    (errors.LimitRequestHeaders("limit"), 431, "headers: at most 100"),
    (errors.InvalidChunkSize(b"z"), 400, "request: not well-formed"),
    (LateRequest(), 408, "request: did not arrive within"),
]


@pytest.mark.parametrize(("error", "status", "sentence"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_a_refusal_says_what_is_allowed(error: Exception, status: int, sentence: str) -> None:
    told = refusal(error)
    assert told is not None
    assert told[0] == status
    assert told[1].startswith(sentence)
    assert "secret" not in told[1]


def test_whatever_gunicorn_cannot_parse_is_the_callers_fault() -> None:
    ours = {errors.InvalidResponseHeader, errors.InvalidResponseHeaderName, errors.ConfigurationProblem}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind is not errors.NoMoreData]
    assert len(kinds) > 10
    for kind in kinds:
        told = refusal(kind.__new__(kind) if kind is not errors.InvalidHeader else kind("A"))
        assert (told is None) == (kind in ours), kind
        assert told is None or (400 <= told[0] < 500 and told[0] in REASONS)


def test_a_failure_of_ours_is_no_refusal() -> None:
    assert refusal(RuntimeError("secret")) is None


@pytest.mark.parametrize("status", REASONS)
def test_an_answer_is_json_and_the_last_of_its_connection(status: int) -> None:
    head, body = answer(status, 'say "x"', "req_1").split(b"\r\n\r\n")
    assert json.loads(body) == {"error": 'say "x"'}
    lines = head.decode().split("\r\n")
    assert lines[0] == f"HTTP/1.1 {status} {REASONS[status]}"
    names = {"x-typesafe-request-id: req_1", "x-request-id: req_1"}
    assert set(lines[1:]) == names | {
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    }
