"""Every error of an endpoint's has one of ours, and the tree in the docstring is the tree in the code."""

import json
import re

import pytest
from botocore import exceptions as boto
from botocore.exceptions import ClientError

from decision_adapter import errors as adapter
from decision_client import errors
from decision_client.aws_errors import CODES, of_botocore, of_service

KINDS = {
    400: errors.InvalidRequestError,
    401: errors.AuthenticationError,
    403: errors.AuthenticationError,
    404: errors.NotFoundError,
    405: errors.NotFoundError,
    408: errors.UnreachableError,
    413: errors.TooLargeError,
    414: errors.InvalidRequestError,
    415: errors.UnsupportedContentError,
    422: errors.InvalidRequestError,
    429: errors.BusyError,
    499: errors.UnreachableError,
    500: errors.ScoringError,
    501: errors.ScoringError,
    502: errors.UnreachableError,
    503: errors.BusyError,
    504: errors.DeadlineError,
    0: errors.DeadlineError,
    307: errors.UnexpectedAnswerError,
}


def subclasses(parent: type) -> set[type]:
    return {child for direct in parent.__subclasses__() for child in {direct, *subclasses(direct)}}


def test_every_error_is_in_the_tree_of_the_docstring() -> None:
    assert errors.__doc__ is not None
    assert {error.__name__ for error in subclasses(errors.DecisionClientError)} == set(
        re.findall(r"── (\w+)", errors.__doc__)
    )


def test_the_tree_says_what_is_retried_and_what_is_the_decision_s_own() -> None:
    assert errors.__doc__ is not None
    told = dict(re.findall(r"── (\w+)\s+(retried|stops|its own)", errors.__doc__))
    assert {error.__name__: told[error.__name__] for error in subclasses(errors.EndpointError)} == {
        error.__name__: "retried" if error.retryable_by_default else "its own" if error.of_the_decision else "stops"
        for error in subclasses(errors.EndpointError)
    }


@pytest.mark.parametrize(("status", "kind"), KINDS.items())
def test_every_status_has_its_error(status: int, kind: type[errors.EndpointError]) -> None:
    error = errors.of_answer(status, b'{"error": "path: what is allowed"}')
    assert (type(error), error.status, str(error)) == (kind, status, "path: what is allowed")


@pytest.mark.parametrize("kind", adapter.STATUS)
def test_every_error_of_the_adapter_is_told_as_it_told_it(kind: type[adapter.RequestError]) -> None:
    # given an answer of the adapter's
    body, status, headers = adapter.answer(kind("a sentence"))
    # when
    error = errors.of_answer(status, json.dumps(body).encode(), headers.get("Retry-After"))
    # then
    assert type(error) is KINDS[status]
    assert str(error) == body["error"]
    assert error.retry_after_seconds == float(headers.get("Retry-After", 0))
    assert error.retryable is (status in (408, 499) or body.get("retryable", False))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"x" * 10_000, "x" * errors.SHOWN_CHARACTERS),
        (b'{"error": {"message": 7}}', '{"error": {"message": 7}}'),
        (b'{"detail": ["x"]}', '{"detail": ["x"]}'),
        (b"[]", "[]"),
        (b"\xff", "�"),
        (b"[" * 100_000, "[" * errors.SHOWN_CHARACTERS),
        (b"", "answered with status 503 and nothing else"),
    ],
)
def test_a_body_of_another_kind_is_shown_and_cut(body: bytes, sentence: str) -> None:
    assert str(errors.of_answer(503, body)) == sentence


@pytest.mark.parametrize(
    "page",
    [
        b"<html>\r\n<head><title>502 Bad\nGateway</title></head><body><h1>nginx</h1></body></html>",
        b"<!DOCTYPE html><TITLE lang=en>502 Bad Gateway</TITLE>",
        b"\n<html><body><h1>502 Bad</h1> Gateway</body></html>",
    ],
)
def test_a_web_page_is_told_by_its_title_and_with_what_to_look_at(page: bytes) -> None:
    told = str(errors.of_answer(502, page))
    assert told.startswith("status 502 with a web page, '502 Bad Gateway', ")
    assert "<" not in told


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"error": {"message": "no", "type": "t", "param": None, "code": None}}, "no"),
        ({"detail": {"error_type": "t", "message": "no"}}, "no"),
        ({"detail": [{"loc": ["body", "a", 0], "msg": "no"}, {"loc": ["body"], "msg": "why"}]}, "a.0: no; why"),
    ],
)
def test_other_contracts_errors_are_told_by_their_sentence(body: object, sentence: str) -> None:
    assert str(errors.of_answer(422, json.dumps(body))) == sentence


@pytest.mark.parametrize(
    ("header", "seconds"), [("5", 5), (" 1 ", 1), ("Mon, 30 Nov 2026 20:00:00 GMT", 0), ("-1", 0), ("", 0), (None, 0)]
)
def test_retry_after_is_read_as_seconds(header: str | None, seconds: float) -> None:
    assert errors.of_answer(503, b"", header).retry_after_seconds == seconds


@pytest.mark.parametrize(("told", "retryable"), [(b'{"retryable": false}', False), (b'{"retryable": "no"}', True)])
def test_an_answer_s_own_word_on_retrying_counts(told: bytes, retryable: bool) -> None:
    assert errors.of_answer(503, told).retryable is retryable


def client_error(code: str, status: int = 400, message: str = "it says why", **fields: object) -> ClientError:
    response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}, **fields}
    return ClientError(response, "InvokeEndpoint")  # type: ignore[arg-type]  # as botocore makes it


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        ("ThrottlingException", errors.BusyError, "it says why"),
        ("ModelNotReadyException", errors.BusyError, "it says why"),
        ("ExpiredTokenException", errors.AuthenticationError, "log in again"),
        ("AccessDeniedException", errors.AuthenticationError, "sagemaker:InvokeEndpoint"),
        ("ValidationError", errors.NotFoundError, "in service"),
        ("ParameterNotFound", errors.NotFoundError, "the environment's name"),
    ],
)
def test_an_answer_of_aws_s_is_told_with_the_next_step(code: str, kind: type[errors.EndpointError], says: str) -> None:
    error = of_service(client_error(code))
    assert type(error) is kind
    assert says in str(error)
    assert f"({code})" in str(error)
    assert error.retryable is kind.retryable_by_default


def test_codes_that_are_not_known_go_by_their_status() -> None:
    assert type(of_service(client_error("SomethingNew", 503))) is errors.BusyError
    assert type(of_service(client_error("SomethingNew", 403))) is errors.AuthenticationError
    assert type(of_service(client_error("ValidationError", 413))) is errors.TooLargeError


def test_no_code_is_listed_that_says_nothing_of_what_to_do() -> None:
    assert all(next_step for _, next_step in CODES.values())


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (boto.NoCredentialsError(), errors.AuthenticationError, "log in"),
        (boto.TokenRetrievalError(provider="sso", error_msg="expired"), errors.AuthenticationError, "log in"),
        (boto.NoRegionError(), errors.ConfigurationError, "AWS_DEFAULT_REGION"),
        (boto.ProfileNotFound(profile="gone"), errors.ConfigurationError, "gone"),
        (boto.ParamValidationError(report="EndpointName"), errors.ConfigurationError, "EndpointName"),
        (boto.EndpointConnectionError(endpoint_url="https://e"), errors.UnreachableError, "the region"),
        (boto.ReadTimeoutError(endpoint_url="https://e"), errors.UnreachableError, "the network"),
        (boto.ConnectionClosedError(endpoint_url="https://e"), errors.UnreachableError, "the network"),
        (boto.ConnectTimeoutError(endpoint_url="https://e"), errors.UnreachableError, "the network"),
        (boto.IncompleteReadError(actual_bytes=1, expected_bytes=2), errors.UnreachableError, "the network"),
    ],
)
def test_what_aws_did_not_answer_is_told_with_the_next_step(
    error: boto.BotoCoreError, kind: type[errors.DecisionClientError], says: str
) -> None:
    told = of_botocore(error)
    assert type(told) is kind
    assert says in str(told)


def test_a_certificate_is_not_retried() -> None:
    told = of_botocore(boto.SSLError(endpoint_url="https://e", error="self-signed"))
    assert isinstance(told, errors.UnreachableError)
    assert not told.retryable
