"""How a command ends: one sentence on stderr that says what to do next, and an exit status that scripts can tell apart.

DecideError                  of the command line itself; `status` is its exit status
decision_client's errors     by the table below
KeyboardInterrupt            130
anything else                70: a defect of ours, in one sentence, too
"""

from enum import IntEnum

from decision_client import errors as client_errors


class ExitStatus(IntEnum):
    """What the exit status says. docs/decide.md has the same table."""

    DONE = 0
    """All that was asked for was done."""
    INCOMPLETE = 1
    """It went to its end, and a part has no answer, or a threshold that was asked for is not reached."""
    USAGE = 2
    """The options are wrong, contradict each other, or name a profile, region or key that cannot be."""
    INPUT = 3
    """A file or the request in it has to be changed."""
    UNREACHABLE = 4
    """Nothing answers there."""
    REFUSED = 5
    """Credentials or key are missing, expired, or may not do this."""
    NOT_FOUND = 6
    """There is no such endpoint or environment."""
    BUSY = 7
    """It was busy, loading or throttled for as long as was waited; the same may succeed later."""
    FAILED = 8
    """What was asked failed inside, took too long, or answered what nobody can read."""
    DEFECT = 70
    """An error of this command's own."""
    INTERRUPTED = 130
    """Ctrl-C. What was done is kept."""


class DecideError(Exception):
    """A command cannot go on; the message is a sentence that says what was wrong, where, and what to do."""

    def __init__(self, message: str, status: ExitStatus) -> None:
        """Tell ``message`` and end with ``status``."""
        super().__init__(message)
        self.status = status


class UsageError(DecideError):
    """Options contradict each other or cannot be."""

    def __init__(self, message: str) -> None:
        """Tell ``message``."""
        super().__init__(message, ExitStatus.USAGE)


class InputError(DecideError):
    """A file cannot be read, or is not what it should be."""

    def __init__(self, message: str) -> None:
        """Tell ``message``, which begins with the file and the place in it."""
        super().__init__(message, ExitStatus.INPUT)


STATUS: dict[type[client_errors.DecisionClientError], ExitStatus] = {
    client_errors.ConfigurationError: ExitStatus.USAGE,
    client_errors.SomeFailedError: ExitStatus.INCOMPLETE,
    client_errors.UnreachableError: ExitStatus.UNREACHABLE,
    client_errors.BusyError: ExitStatus.BUSY,
    client_errors.AuthenticationError: ExitStatus.REFUSED,
    client_errors.NotFoundError: ExitStatus.NOT_FOUND,
    client_errors.UnsupportedContentError: ExitStatus.FAILED,
    client_errors.UnexpectedAnswerError: ExitStatus.FAILED,
    client_errors.InvalidRequestError: ExitStatus.INPUT,
    client_errors.TooLargeError: ExitStatus.INPUT,
    client_errors.DeadlineError: ExitStatus.FAILED,
    client_errors.ScoringError: ExitStatus.FAILED,
}
"""The exit status for each error of the client's."""


def status_of(error: BaseException) -> ExitStatus:
    """The exit status of a command that ``error`` ended."""
    if isinstance(error, DecideError):
        return error.status
    if isinstance(error, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    if isinstance(error, OSError):  # a full disk behind stdout
        return ExitStatus.FAILED
    kinds = (STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    return next(kinds, ExitStatus.DEFECT)


def sentence_of(error: Exception) -> str:
    """What a person reads about ``error``: one paragraph."""
    notes = " ".join(getattr(error, "__notes__", ()))
    told = " ".join(f"{error}{notes and f' ({notes})'}".split())
    if status_of(error) is not ExitStatus.DEFECT:
        return told
    return (
        f"{type(error).__name__}: {told}; this is a defect of `decide`: set DECIDE_DEBUG=1 to see where, and report it"
    )
