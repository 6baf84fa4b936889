"""Asking again: capped exponential back-off with full jitter, within a deadline.

Written here because the client brings no dependencies beside boto3 and pydantic, and botocore's own retries neither
read a container's answer inside a ModelError nor end at a deadline.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from decision_client.errors import EndpointError

T = TypeVar("T")


class Clock(Protocol):
    """Time that passes by itself and by waiting; the module ``time`` is one."""

    def monotonic(self) -> float:
        """Seconds since some moment."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


@dataclass(frozen=True)
class Backoff:
    """How long to wait before the next attempt, and when to give up."""

    deadline_seconds: float = 60.0
    """No attempt begins later than this after the first began, in `decide_many` after the last answer to any of them.
    One under way is not cut short: it has its own limit."""
    first_seconds: float = 0.1
    """Upper bound of the first wait; it doubles with each attempt."""
    cap_seconds: float = 5.0
    """The most that the bound grows to."""

    def __post_init__(self) -> None:
        """Check the durations.

        Raises:
            ValueError: one is out of range; names all that are.
        """
        wrong = [f"{name} must be above 0" for name in ("first_seconds", "cap_seconds") if not getattr(self, name) > 0]
        if not self.deadline_seconds >= 0:
            wrong.append("deadline_seconds must be 0 or more")
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: {self}")

    def run(
        self,
        attempt: Callable[[], T],
        *,
        progress: Callable[[], float] = lambda: 0.0,
        clock: Clock = time,
        jitter: Callable[[], float] = random.random,
    ) -> T:
        """What ``attempt`` returns, as soon as it does not raise a retryable error.

        A wait is what Retry-After asks for and, drawn by ``jitter`` (0 to 1), up to the bound more: those who were
        refused together do not come again together. ``progress`` is when, on the ``clock``, other parts of the same
        work last got on: what only waits for its turn among them is not given up.

        Raises:
            EndpointError: of the attempt that was the last one, with a note that says so.
        """
        started, attempts, bound = clock.monotonic(), 0, self.first_seconds
        while True:
            attempts += 1
            try:
                return attempt()
            except EndpointError as error:
                if not error.retryable:
                    raise
                wait = error.retry_after_seconds + jitter() * min(bound, self.cap_seconds)
                passed = clock.monotonic() - max(started, progress())
                if passed + wait > self.deadline_seconds:
                    error.add_note(f"attempt {attempts} was the last that the deadline of this client leaves time for")
                    raise
            bound *= 2
            clock.sleep(wait)
