"""Every error a request can meet has one status, and the tree in the docstring is the tree in the code."""

import pytest

from decision_adapter import errors


def subclasses(parent: type) -> set[type]:
    return {child for direct in parent.__subclasses__() for child in {direct, *subclasses(direct)}}


def test_every_request_error_has_a_status() -> None:
    assert set(errors.STATUS) == subclasses(errors.RequestError)


def test_every_error_is_in_the_tree_of_the_docstring() -> None:
    assert errors.__doc__ is not None
    for error in subclasses(errors.AdapterError):
        assert f"── {error.__name__} " in errors.__doc__


@pytest.mark.parametrize(
    ("error", "body", "status", "wait"),
    [
        (errors.InvalidRequestError("id: is required"), {"error": "id: is required"}, 400, None),
        (errors.TooLargeError("body: too large"), {"error": "body: too large"}, 413, None),
        (errors.BusyError("busy"), {"error": "busy", "retryable": True}, 503, "1"),
        (errors.LoadingError("loading"), {"error": "loading", "retryable": True}, 503, "5"),
        (errors.StoppingError("stopping"), {"error": "stopping", "retryable": True}, 503, "1"),
        (errors.DeadlineError("aborted"), {"error": "aborted", "retryable": False}, 504, None),
        (errors.ScoringError("llama_decode failed with -3"), {"error": "scoring failed"}, 500, None),
    ],
)
def test_an_error_says_what_its_caller_needs_and_no_more(
    error: errors.RequestError, body: dict[str, object], status: int, wait: str | None
) -> None:
    assert errors.answer(error) == (body, status, {"Retry-After": wait} if wait else {})


def test_what_would_be_accepted_is_told_in_a_header() -> None:
    assert errors.headers(errors.UnsupportedEncodingError("br")) == {"Accept-Encoding": "zstd, gzip, identity"}
    assert errors.headers(errors.AuthenticationError("no")) == {"WWW-Authenticate": "Bearer"}
