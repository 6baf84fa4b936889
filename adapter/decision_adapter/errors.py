"""What can go wrong in the decision container, and what the other side is told.

    AdapterError
    ├── StartError                    the container ends with exit code 3 and one sentence in its log
    │   ├── SettingsError             an environment variable is wrong; lists all that are
    │   ├── ArtifactError             GGUF missing, ambiguous, or not the one its manifest names
    │   ├── CalibrationError          the calibration cannot be read or breaks its schema
    │   ├── TemplateError             no chat template, or one that cannot carry the prompt
    │   ├── LibraryError              llama.cpp's libraries cannot be used, or have no device for the layers asked for
    │   └── ModelError                the model or its context cannot be created, or cannot answer in letters
    └── RequestError                  answered with a JSON body; the container goes on
        ├── InvalidRequestError       400  the caller must change the request
        ├── UnknownModelError         400  the request names a model that is not served here
        ├── AuthenticationError       401  the key is missing or wrong
        ├── UnknownRouteError         404  there is no such path
        ├── MethodError               405  the path is asked in another way
        ├── TooLargeError             413  a limit is passed; the message names the limit and its setting
        ├── UnsupportedContentError   415  the body is not declared as JSON
        ├── UnsupportedEncodingError  415  the body is compressed in a way that is not understood
        ├── LateRequestError          408  the body did not arrive in time
        ├── BusyError                 503  retryable: all places are taken
        ├── LoadingError              503  retryable: the model is not ready yet
        ├── StoppingError             503  retryable: the container is shutting down, and this took too long
        ├── DeadlineError             504  not retryable: it overran and was aborted; the same request would again
        ├── ClientGoneError           499  the caller hung up; nobody reads this answer
        └── ScoringError              500  the caller reads "scoring failed", the log has the reason

Only these become answers below 500; any other exception is a 500 with a log line and no internals. A contract may tell
an error with another status than the one here, which is SemIf's.
"""

from dataclasses import dataclass


class AdapterError(Exception):
    """Base of every error this package raises on purpose."""


class StartError(AdapterError):
    """The container cannot start; the message is the sentence an operator reads."""


class SettingsError(StartError):
    """One or more SEMIF_* variables are wrong."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        count = "one setting is wrong" if len(problems) == 1 else f"{len(problems)} settings are wrong"
        super().__init__(f"{count}: {'; '.join(problems)}")


class ArtifactError(StartError):
    """The model archive does not hold exactly what it should."""


class CalibrationError(StartError):
    """The calibration cannot be read or breaks its schema."""


class TemplateError(StartError):
    """The chat template is missing or cannot carry the prompt."""


class LibraryError(StartError):
    """llama.cpp's libraries cannot be loaded or lack a device that was asked for."""


class ModelError(StartError):
    """llama.cpp refused the model or its context, or the vocabulary has no single tokens for the letters."""


class RequestError(AdapterError):
    """A request that is answered with an error; the message is what the caller reads."""


Place = tuple[str | int, ...]
"""The keys and indexes that lead to a value in a body; empty for the body itself."""

MAX_PATH_LENGTH = 100
"""Characters of a field's path in a message."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a body."""

    place: Place
    sentence: str
    """What is allowed and what was sent."""
    kind: str = "value_error"
    """A word for programs; pydantic's, where pydantic found it."""

    def __str__(self) -> str:
        """As in ``decision.options[0].id: must be a string, got number``."""
        parts = (f"[{step}]" if isinstance(step, int) else f".{printable(step)}" for step in self.place)
        path = "".join(parts).removeprefix(".") or "body"
        return f"{path if len(path) <= MAX_PATH_LENGTH else path[:MAX_PATH_LENGTH] + '…'}: {self.sentence}"


def printable(text: str, length: int = 40) -> str:
    """``text``, cut to ``length`` characters and safe to send back: a key may itself be what is wrong."""
    return text[:length].encode("utf-8", "backslashreplace").decode("utf-8")


class InvalidRequestError(RequestError):
    """The body breaks the contract, in one or more places; the message tells the first three."""

    def __init__(self, *problems: Problem | str) -> None:
        """Tell ``problems``; a string is about no one place, or names it itself."""
        self.problems = problems
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        super().__init__("; ".join(map(str, problems[:3])) + more)


class UnknownModelError(RequestError):
    """The request names a model that is not served here; the message names those that are."""


class AuthenticationError(RequestError):
    """The request does not carry the key."""


class UnknownRouteError(RequestError):
    """There is no such path; the message names those there are."""


class MethodError(RequestError):
    """The path takes another method; the message names all routes."""


class TooLargeError(RequestError):
    """The request passes a limit; the message names value, limit and setting."""


class UnsupportedContentError(RequestError):
    """The body is not declared as JSON."""


class UnsupportedEncodingError(RequestError):
    """The Content-Encoding is unknown, or there are several."""


class LateRequestError(RequestError):
    """The body took longer to arrive than it may."""


class BusyError(RequestError):
    """Every place is taken; the same request can succeed later."""


class LoadingError(RequestError):
    """The model is still loading; the same request can succeed later."""


class StoppingError(RequestError):
    """The container is shutting down; the same request can succeed elsewhere."""


class DeadlineError(RequestError):
    """The work was aborted because it overran; the same request would overrun again."""


class ClientGoneError(RequestError):
    """Nobody waits for the answer any more, so nothing was scored."""


class ScoringError(RequestError):
    """llama.cpp failed or gave logits that are not numbers; the message is for the log only."""


STATUS: dict[type[RequestError], int] = {
    InvalidRequestError: 400,
    UnknownModelError: 400,
    AuthenticationError: 401,
    UnknownRouteError: 404,
    MethodError: 405,
    TooLargeError: 413,
    UnsupportedContentError: 415,
    UnsupportedEncodingError: 415,
    LateRequestError: 408,
    BusyError: 503,
    LoadingError: 503,
    StoppingError: 503,
    DeadlineError: 504,
    ClientGoneError: 499,
    ScoringError: 500,
}
"""HTTP status of each request error: the only place where one meets the other."""


RETRY_AFTER_SECONDS: dict[type[RequestError], int] = {BusyError: 1, LoadingError: 5, StoppingError: 1}
"""The errors after which the same request can succeed, and how long to wait: the Retry-After header of a 503.

Short on purpose: clients' SDKs give up at once when they are told to wait long.
"""


def answer(error: RequestError) -> tuple[dict[str, object], int, dict[str, str]]:
    """Body, HTTP status and headers for ``error``, as SemIf's contract tells it.

    A status of the server's (5xx) says whether the same request can succeed later; a 500 says nothing about the inside.
    """
    status = STATUS[type(error)]
    body: dict[str, object] = {"error": message(error)}
    if status > 500:
        body["retryable"] = type(error) in RETRY_AFTER_SECONDS
    return body, status, headers(error)


def message(error: RequestError) -> str:
    """What the caller reads: nothing about the inside."""
    return "scoring failed" if STATUS[type(error)] == 500 else str(error)


def headers(error: RequestError) -> dict[str, str]:
    """What belongs to the status of ``error``, whatever the contract: when to come again, or what would be accepted."""
    if type(error) in RETRY_AFTER_SECONDS:
        return {"Retry-After": str(RETRY_AFTER_SECONDS[type(error)])}
    if isinstance(error, UnsupportedEncodingError):
        return {"Accept-Encoding": "zstd, gzip, identity"}
    return {"WWW-Authenticate": "Bearer"} if isinstance(error, AuthenticationError) else {}
