"""When a request is sent again: the waits, the deadline, what is not retried. On a clock that tests move."""

import random
from collections.abc import Callable

import pytest

from decision_client.backoff import Backoff
from decision_client.errors import BusyError, EndpointError, InvalidRequestError, UnreachableError


class FakeClock:
    """Time passes only by waiting, and by ``attempt_seconds`` for each attempt."""

    def __init__(self, attempt_seconds: float = 0.0) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.attempt_seconds = attempt_seconds

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def failing(self, error: EndpointError, times: int = 10_000) -> Callable[[], str]:
        """An attempt that raises ``error`` so many times, and then succeeds."""
        left = iter(range(times))

        def attempt() -> str:
            self.now += self.attempt_seconds
            if next(left, None) is None:
                return "answer"
            raise error

        return attempt


def at_most() -> float:
    return 1.0


def test_waits_double_up_to_the_cap() -> None:
    clock = FakeClock()
    backoff = Backoff(deadline_seconds=60, first_seconds=0.5, cap_seconds=3)
    assert backoff.run(clock.failing(BusyError("busy"), 5), clock=clock, jitter=at_most) == "answer"
    assert clock.waits == [0.5, 1, 2, 3, 3]


def test_jitter_takes_any_part_of_a_wait() -> None:
    # given the same random numbers twice
    clock, expected = FakeClock(), random.Random(7)
    # when
    Backoff(first_seconds=1, cap_seconds=1).run(
        clock.failing(UnreachableError("gone"), 20), clock=clock, jitter=random.Random(7).random
    )
    # then the whole range is used, to spread those who were refused together
    assert clock.waits == [expected.random() for _ in range(20)]
    assert min(clock.waits) < 0.2
    assert max(clock.waits) > 0.8


def test_retry_after_is_the_least_that_is_waited() -> None:
    clock = FakeClock()
    busy = BusyError("busy", retry_after_seconds=2)
    Backoff(first_seconds=0.5).run(clock.failing(busy, 2), clock=clock, jitter=at_most)
    assert clock.waits == [2.5, 3]


def test_nothing_is_sent_after_the_deadline_and_the_error_is_the_last_one() -> None:
    # given an attempt that takes 4 s and waits of 1 s
    clock, busy = FakeClock(attempt_seconds=4), BusyError("all places are taken")
    # when
    with pytest.raises(BusyError, match="all places") as raised:
        Backoff(deadline_seconds=10, first_seconds=1, cap_seconds=1).run(
            clock.failing(busy), clock=clock, jitter=at_most
        )
    # then those that begin at 0, 5 and 10 s are made, and none at 15 s
    assert clock.waits == [1, 1]
    assert raised.value.__notes__ == ["attempt 3 was the last that the deadline of this client leaves time for"]


def test_the_deadline_counts_from_what_others_of_the_same_work_got_last() -> None:
    # given others that are answered until 100 s have passed
    clock = FakeClock()
    answered, busy = clock.now + 100, BusyError("busy")
    # when
    with pytest.raises(BusyError):
        Backoff(deadline_seconds=10, first_seconds=1, cap_seconds=1).run(
            clock.failing(busy), progress=lambda: min(clock.now, answered), clock=clock, jitter=at_most
        )
    # then
    assert sum(clock.waits) == 110


def test_who_is_told_to_come_after_the_deadline_does_not_wait_for_it() -> None:
    clock = FakeClock()
    with pytest.raises(BusyError):
        Backoff(deadline_seconds=10).run(
            clock.failing(BusyError("busy", retry_after_seconds=60)), clock=clock, jitter=at_most
        )
    assert clock.waits == []


@pytest.mark.parametrize(
    "error", [InvalidRequestError("id: is required", status=400), BusyError("no", status=503, retryable=False)]
)
def test_what_would_fail_again_is_not_sent_again(error: EndpointError) -> None:
    clock = FakeClock()
    with pytest.raises(type(error)):
        Backoff().run(clock.failing(error), clock=clock, jitter=at_most)
    assert clock.waits == []


def test_durations_that_would_not_wait_are_all_named() -> None:
    with pytest.raises(
        ValueError, match=r"first_seconds must be above 0, cap_seconds .*, deadline_seconds must be 0 or more"
    ):
        Backoff(deadline_seconds=-1, first_seconds=0, cap_seconds=0)
