"""What a build is doing and how long it took, on stderr: stdout belongs to the result."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(what: str) -> Iterator[None]:
    """Announces a step, and says how many seconds it took when it ends or fails."""
    _say(f"{what} ...")
    started = time.monotonic()
    outcome = "failed after"
    try:
        yield
        outcome = "done in"
    finally:
        _say(f"{what}: {outcome} {time.monotonic() - started:.1f} s")


def megabytes(size_bytes: int) -> str:
    """The size as people compare it: `3,013.0 MB`, in millions of bytes."""
    return f"{size_bytes / 1e6:,.1f} MB"


def _say(line: str) -> None:
    print(f"model_build: {line}", file=sys.stderr, flush=True)
