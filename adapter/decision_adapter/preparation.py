"""One request at a time is made from bytes into what the engine reads.

Values, texts and tokens take many times the bytes of a body. Python lets only one thread at a time work on them anyway,
so that several at once would only add up their memory.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_turn = threading.Lock()
_thread = threading.local()


@contextmanager
def alone() -> Iterator[None]:
    """While no other thread is in such a block, but for those that are in ``waiting``."""
    with _turn:
        _thread.has_turn = True
        try:
            yield
        finally:
            _thread.has_turn = False


@contextmanager
def waiting() -> Iterator[None]:
    """Inside of ``alone``: let other threads have their turn meanwhile; elsewhere nothing."""
    if not getattr(_thread, "has_turn", False):
        yield
        return
    _turn.release()
    try:
        yield
    finally:
        _turn.acquire()
