"""Every error has an exit status, and no two things a script would tell apart have the same."""

from decide.errors import STATUS, DecideError, ExitStatus, InputError, UsageError, sentence_of, status_of
from decision_client import DecisionClientError, EndpointError, UnreachableError, errors


def test_every_error_of_the_client_has_a_status() -> None:
    defined = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)}
    assert defined - {DecisionClientError, EndpointError} == set(STATUS)


def test_the_status_of_what_ends_a_command() -> None:
    assert status_of(UsageError("x")) is ExitStatus.USAGE
    assert status_of(InputError("x")) is ExitStatus.INPUT
    assert status_of(DecideError("x", ExitStatus.FAILED)) is ExitStatus.FAILED
    assert status_of(UnreachableError("x")) is ExitStatus.UNREACHABLE
    assert status_of(KeyboardInterrupt()) is ExitStatus.INTERRUPTED
    assert status_of(OSError(28, "No space left on device")) is ExitStatus.FAILED
    assert status_of(ZeroDivisionError()) is ExitStatus.DEFECT


def test_a_sentence_has_no_line_breaks_and_its_notes() -> None:
    error = UnreachableError("nothing\n  there")
    error.add_note("attempt 2 was the last")
    assert sentence_of(error) == "nothing there (attempt 2 was the last)"


def test_a_defect_says_that_it_is_ours() -> None:
    assert "this is a defect" in sentence_of(ZeroDivisionError("division by zero"))
