"""The line in front of the engine: its bound, its order, its time limit, and what is not scored."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from decision_adapter.admission import Admission
from decision_adapter.engine import Stop
from decision_adapter.errors import BusyError, ClientGoneError, DeadlineError, StoppingError

PATIENCE_SECONDS = 10


class Line:
    """An ``Admission`` whose work is one thread's that is known to have begun, and waits to be let go."""

    def __init__(self, places: int, deadline_seconds: float) -> None:
        self.admission = Admission(places, deadline_seconds)
        self.done: list[str] = []
        self.begun, self.let_go = threading.Event(), threading.Event()
        self._callers = ThreadPoolExecutor(places + 1)

    def slow(self, stop: Stop) -> str:
        """Work that goes on until it is let go or stopped."""
        self.begun.set()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.let_go.wait(0.01) and time.monotonic() < deadline:
            stop.check()
        self.done.append("slow")
        return "slow"

    def ask(self, work: Callable[[Stop], Any], still_wanted: Callable[[], bool] = lambda: True) -> "Future[Any]":
        return self._callers.submit(self.admission.run, work, time.perf_counter(), still_wanted)

    def occupy(self) -> "Future[Any]":
        future = self.ask(self.slow)
        assert self.begun.wait(PATIENCE_SECONDS)
        return future

    def ask_and_wait_in_line(self, name: str, still_wanted: Callable[[], bool] = lambda: True) -> "Future[Any]":
        admitted = len(self.admission._admitted)
        future = self.ask(lambda _: self.done.append(name), still_wanted)
        while len(self.admission._admitted) == admitted and not future.done():
            time.sleep(0.001)
        return future

    def close(self) -> None:
        self.let_go.set()
        self._callers.shutdown()
        self.admission.close()


@pytest.fixture
def line_with() -> Iterator[Callable[..., Line]]:
    made: list[Line] = []

    def make(places: int = 1, deadline_seconds: float = PATIENCE_SECONDS) -> Line:
        made.append(Line(places, deadline_seconds))
        return made[-1]

    yield make
    for line in made:
        line.close()


def test_who_waits_is_served_in_the_order_of_arrival(line_with: Callable[..., Line]) -> None:
    # given one at the engine and five that wait
    line = line_with(places=6)
    futures = [line.occupy(), *(line.ask_and_wait_in_line(str(index)) for index in range(5))]
    # when the engine is free
    line.let_go.set()
    # then
    for future in futures:
        future.result(PATIENCE_SECONDS)
    assert line.done == ["slow", "0", "1", "2", "3", "4"]


def test_beyond_the_places_it_is_busy_at_once_and_then_free_again(line_with: Callable[..., Line]) -> None:
    line = line_with(places=2)
    futures = [line.occupy(), line.ask_and_wait_in_line("second")]
    with pytest.raises(BusyError, match=r"^busy: 2 in flight \(SEMIF_MAX_IN_FLIGHT\)"):
        line.ask(line.slow).result(PATIENCE_SECONDS)
    line.let_go.set()
    for future in futures:
        future.result(PATIENCE_SECONDS)
    assert line.ask(lambda _: "again").result(PATIENCE_SECONDS) == "again"


def test_work_that_overruns_is_stopped_and_the_next_goes_on(line_with: Callable[..., Line]) -> None:
    line = line_with(deadline_seconds=0.1)
    with pytest.raises(DeadlineError, match=r"^aborted: not done within 0\.1 s \(SEMIF_DEADLINE_SECONDS\)"):
        line.occupy().result(PATIENCE_SECONDS)
    line.let_go.set()
    assert line.ask(lambda _: "next").result(PATIENCE_SECONDS) == "next"
    assert line.done == []


def test_a_turn_that_does_not_come_in_time_is_told_to_retry(line_with: Callable[..., Line]) -> None:
    # given work that does not look whether it is stopped, as a GPU's in the middle of a graph
    line = line_with(places=2, deadline_seconds=0.2)
    begun, release = threading.Event(), threading.Event()

    def deaf(_stop: Stop) -> str:
        begun.set()
        assert release.wait(PATIENCE_SECONDS)
        return "done after all"

    first = line.ask(deaf)
    assert begun.wait(PATIENCE_SECONDS)
    # then who waits behind it is answered in time, and not scored
    with pytest.raises(BusyError, match=r"the turn did not come within 0\.2 s \(SEMIF_DEADLINE_SECONDS\)"):
        line.ask(lambda _: line.done.append("second")).result(PATIENCE_SECONDS)
    release.set()
    assert first.result(PATIENCE_SECONDS) == "done after all"
    assert line.done == []


def test_who_hung_up_while_waiting_is_not_scored(line_with: Callable[..., Line]) -> None:
    line = line_with(places=3)
    first, gone = line.occupy(), line.ask_and_wait_in_line("gone", still_wanted=lambda: False)
    last = line.ask_and_wait_in_line("last")
    line.let_go.set()
    with pytest.raises(ClientGoneError):
        gone.result(PATIENCE_SECONDS)
    first.result(PATIENCE_SECONDS)
    last.result(PATIENCE_SECONDS)
    assert line.done == ["slow", "last"]


def test_a_shutdown_stops_what_runs_and_what_waits(line_with: Callable[..., Line]) -> None:
    line = line_with(places=2)
    futures = [line.occupy(), line.ask_and_wait_in_line("second")]
    line.admission.stop_after(0)
    for future in futures:
        with pytest.raises(StoppingError):
            future.result(PATIENCE_SECONDS)
    # and nothing more is admitted, as of a body whose records ask one after the other
    with pytest.raises(StoppingError):
        line.ask(lambda _: line.done.append("late")).result(PATIENCE_SECONDS)
    assert line.done == []


def test_work_that_nobody_asked_for_and_that_fails_is_logged_and_the_next_goes_on(
    line_with: Callable[..., Line], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_stop: Stop) -> None:
        raise RuntimeError("why it failed")

    line = line_with()
    line.admission.run_unasked(fail)
    assert line.ask(lambda _: "next").result(PATIENCE_SECONDS) == "next"
    assert "why it failed" in caplog.text


def test_work_that_nobody_asked_for_takes_no_place_and_is_stopped_at_once(line_with: Callable[..., Line]) -> None:
    # given one place, and the container's own work at the engine
    line = line_with(places=1)
    line.admission.run_unasked(lambda stop: line.slow(stop) and None)
    assert line.begun.wait(PATIENCE_SECONDS)
    waiting = line.ask_and_wait_in_line("asked")
    # when the container stops, with time for what was asked
    line.admission.stop_after(PATIENCE_SECONDS)
    # then
    waiting.result(PATIENCE_SECONDS)
    assert line.done == ["asked"]


def test_what_is_under_way_is_stopped_when_its_caller_hangs_up(line_with: Callable[..., Line]) -> None:
    # given work at the engine, and work in line behind it
    line = line_with(places=2)
    gone, also_gone = threading.Event(), threading.Event()
    working = line.ask(line.slow, lambda: not gone.is_set())
    assert line.begun.wait(PATIENCE_SECONDS)
    waiting = line.ask_and_wait_in_line("never", lambda: not also_gone.is_set())
    # when both callers hang up, the one that waits first
    also_gone.set()
    with pytest.raises(ClientGoneError, match="the caller hung up"):
        waiting.result(PATIENCE_SECONDS)
    gone.set()
    with pytest.raises(ClientGoneError, match="the caller hung up"):
        working.result(PATIENCE_SECONDS)
    # then both places are free
    assert line.ask(lambda _: "next").result(PATIENCE_SECONDS) == "next"
    assert line.done == []
