"""The extra that evaluation needs beside the command line: imported when a command runs, so that others start fast."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from decide.errors import UsageError

PACKAGES = ("jinja2", "matplotlib", "numpy", "scipy")


@contextmanager
def needed() -> Iterator[None]:
    """For the imports of a command.

    Raises:
        UsageError: a package of the extra is not installed.
    """
    missing = next((name for name in PACKAGES if find_spec(name) is None), None)
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name
    if missing:
        raise UsageError(f"this command needs {missing}: pip install './client[cli,evaluate]'")
