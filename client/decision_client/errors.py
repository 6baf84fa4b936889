"""What can go wrong when an application asks for decisions.

    DecisionClientError
    ├── ConfigurationError       a base URL, key, region or profile is missing or wrong, or the client is closed
    ├── SomeFailedError          decide_many: some decisions have no result; `outcomes` has what became of each
    └── EndpointError            a request that did not bring a result; `status`, `retryable`, `retry_after_seconds`
        ├── UnreachableError         retried   no connection, or it broke; 408, 499, 502
        ├── BusyError                retried   all places are taken, or the endpoint is loading or throttled; 429, 503
        ├── AuthenticationError      stops     key or AWS credentials are missing, expired or may not do this; 401, 403
        ├── NotFoundError            stops     no such endpoint, environment or route; 404, 405
        ├── UnsupportedContentError  stops     what answers takes another kind of body; 415
        ├── UnexpectedAnswerError    stops     what answers does not speak SemIf's contract; 200, 3xx
        ├── InvalidRequestError      its own   the decision has to be changed; 400 and any other 4xx
        ├── TooLargeError            its own   too many bytes, decisions or tokens; 413
        ├── DeadlineError            its own   scoring took too long, and would again; 504, SageMaker's 60 s
        └── ScoringError             its own   the endpoint failed inside, its log says why; 500 and any other 5xx

"retried" errors reach the caller only when the deadline for retries has passed. For `decide_many`, an error that is the
decision's "own" says nothing about the others: a shared request that meets it is split until it stands alone, and the
rest goes on. Any other ends the call, since the next request would meet it, too.

The message is the endpoint's own sentence where there is one.
"""

import html
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from decision_client.result import Result

SHOWN_CHARACTERS = 300
"""Of a body that is not the contract's, in a message."""


class DecisionClientError(Exception):
    """Base of every error this package raises on purpose; the message is a sentence for people."""


class ConfigurationError(DecisionClientError):
    """The client cannot be set up, is closed, or boto3 does not know where to send a request."""


class EndpointError(DecisionClientError):
    """A request that did not bring a result."""

    retryable_by_default: ClassVar[bool] = False
    of_the_decision: ClassVar[bool] = False
    """Whether another decision may well fare better."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool | None = None,
        retry_after_seconds: float = 0.0,
    ) -> None:
        """Tell ``message``; ``status`` is the container's or the platform's, None where nothing answered.

        ``retryable`` is what the answer said about itself, None where it said nothing.
        """
        super().__init__(message)
        self.status = status
        self.retryable = self.retryable_by_default if retryable is None else retryable
        self.retry_after_seconds = retry_after_seconds


class UnreachableError(EndpointError):
    """The request or its answer did not get through."""

    retryable_by_default = True


class BusyError(EndpointError):
    """The endpoint cannot take the request now; the same one can succeed later."""

    retryable_by_default = True


class AuthenticationError(EndpointError):
    """Whoever asks is not known, or may not ask."""


class NotFoundError(EndpointError):
    """What is asked does not exist."""


class UnsupportedContentError(EndpointError):
    """JSON is not taken here."""


class UnexpectedAnswerError(EndpointError):
    """The answer is not one of SemIf's contract."""


class InvalidRequestError(EndpointError):
    """The decision has to be changed; the message begins with the field's path."""

    of_the_decision = True


class TooLargeError(EndpointError):
    """The request passes a limit; the message names it."""

    of_the_decision = True


class DeadlineError(EndpointError):
    """Scoring took too long and was given up."""

    of_the_decision = True


class ScoringError(EndpointError):
    """The endpoint failed."""

    of_the_decision = True


class SomeFailedError(DecisionClientError):
    """Some decisions of `decide_many` have no result."""

    def __init__(self, outcomes: Sequence["Result | DecisionClientError"]) -> None:
        """Tell how many failed and why the first did; ``outcomes`` are in the order of the decisions."""
        self.outcomes = tuple(outcomes)
        failed = [(index, one) for index, one in enumerate(outcomes) if isinstance(one, DecisionClientError)]
        index, first = failed[0]
        super().__init__(f"{len(failed)} of {len(outcomes)} decisions have no result; first, at index {index}: {first}")


STATUS: dict[int, type[EndpointError]] = {
    0: DeadlineError,  # SageMaker's, for a container that did not answer in time
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFoundError,
    405: NotFoundError,
    408: UnreachableError,
    413: TooLargeError,
    415: UnsupportedContentError,
    429: BusyError,
    499: UnreachableError,
    502: UnreachableError,
    503: BusyError,
    504: DeadlineError,
}
"""The error for each status that is not simply one of its hundred."""


def kind_of(status: int) -> type[EndpointError]:
    """The error for an HTTP ``status``."""
    if status in STATUS:
        return STATUS[status]
    if status < 400:
        return UnexpectedAnswerError
    return InvalidRequestError if status < 500 else ScoringError


def of_answer(status: int, body: bytes | str, retry_after: str | None = None) -> EndpointError:
    """The error that a container told with ``status``, its ``body`` and the header Retry-After."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):  # a thousand brackets
        told = None
    told = told if isinstance(told, dict) else {}
    sentence = _sentence(told) or _of_page(status, text) or text.strip()[:SHOWN_CHARACTERS]
    retryable = told.get("retryable")
    return kind_of(status)(
        sentence or f"answered with status {status} and nothing else",
        status=status,
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after_seconds=_seconds(retry_after),
    )


def _sentence(told: dict[str, Any]) -> str:
    """What a body of any contract says; empty where it says nothing."""
    match told:
        case {"error": str(sentence)} | {"error": {"message": str(sentence)}} | {"detail": {"message": str(sentence)}}:
            return sentence
        case {"detail": [*problems]}:
            return "; ".join(": ".join([*_path(one), str(one["msg"])]) for one in problems if _placed(one))
    return ""


def _of_page(status: int, text: str) -> str:
    """What a web page in place of an answer comes to; empty where ``text`` is none."""
    if not text.lstrip().lower().startswith(("<!doctype html", "<html")):
        return ""
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    says = " ".join(html.unescape(title[1] if title else re.sub(r"<[^>]*>", " ", text)).split())
    return (
        f"status {status} with a web page, {says[:SHOWN_CHARACTERS]!r}, and no answer of an endpoint's: "
        "is this its URL, and what stands before it?"
    )


def _placed(problem: object) -> bool:
    return isinstance(problem, dict) and isinstance(problem.get("loc"), list) and "msg" in problem


def _path(problem: dict[str, Any]) -> list[str]:
    """Where in the body, as in ``questions.a``; none for the body itself."""
    return [".".join(map(str, problem["loc"][1:]))] if problem["loc"][1:] else []


def _seconds(retry_after: str | None) -> float:
    """The seconds of a Retry-After header; 0 where there is none, or a date, which needs clocks that agree."""
    return float(retry_after) if retry_after and retry_after.strip().isdecimal() else 0.0
