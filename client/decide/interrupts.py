"""Ctrl-C while requests are under way in threads: the first waits for them, the second does not."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from decide import output
from decide.errors import ExitStatus


@contextmanager
def finishing(why: BaseException) -> Iterator[None]:
    """A block that waits for what is under way, because of ``why``. Ctrl-C within it ends the process.

    Threads that wait for a socket cannot be interrupted, and Python would wait for them.
    """
    if isinstance(why, KeyboardInterrupt):
        output.warn("waiting for what is under way, to keep it; Ctrl-C again leaves at once")
    try:
        yield
    except KeyboardInterrupt:
        os._exit(ExitStatus.INTERRUPTED)
