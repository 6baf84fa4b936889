"""The extra that evaluation needs beside the command line: imported when a command runs, so that others start fast."""

from collections.abc import Iterator
from contextlib import contextmanager

from decide.errors import UsageError


@contextmanager
def needed() -> Iterator[None]:
    """For the imports of a command.

    Raises:
        UsageError: a package of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"this command needs {error.name}: pip install './client[cli,evaluate]'") from error
