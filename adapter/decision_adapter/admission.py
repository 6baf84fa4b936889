"""The engine thread and the line in front of it: bounded, first come first served, with a time limit."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from decision_adapter import metrics
from decision_adapter.engine import Stop
from decision_adapter.errors import BusyError, ClientGoneError, DeadlineError, RequestError, StoppingError

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""Between two looks whether the caller of what waits or is decoded is still there."""


class Admission:
    """Runs work on the one engine thread, in the order in which it was admitted.

    A place is held from admission until the work is done, so the places bound the work that waits. Nobody waits for a
    place. Who waits for a turn is told in time when it does not come, or is forgotten if it hung up meanwhile.
    """

    def __init__(self, places: int, deadline_seconds: float) -> None:
        self._places = places
        self._deadline_seconds = deadline_seconds
        self._lock = threading.Lock()
        self._admitted: set[Stop] = set()
        self._unasked = Stop()
        self._stopped = False
        self._engine_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine")

    def run(self, work: Callable[[Stop], T], started: float, still_wanted: Callable[[], bool]) -> T:
        """What ``work`` returns. Any thread; ``work`` runs on the engine thread.

        Args:
            work: gets a ``Stop`` that is set when the time is over.
            started: when the request began, by ``time.perf_counter``; the deadline counts from there.
            still_wanted: whether the caller is still there; asked when the turn has come, and now and then.

        Raises:
            BusyError: all places are taken, or the turn did not come before the deadline.
            DeadlineError: the work was stopped at the deadline.
            ClientGoneError: the caller hung up; the work was not begun, or stopped.
            StoppingError: the container is shutting down, and the time to finish is over.
        """
        stop = Stop()

        def turn() -> T:
            stop.check()
            if not still_wanted():
                raise _gone()
            return work(stop)

        with self._lock:  # admission and the place in the line are one step
            if self._stopped:  # the records of a body ask one after the other
                raise _stopping()
            if len(self._admitted) >= self._places:
                raise BusyError(f"busy: {self._places} in flight (SEMIF_MAX_IN_FLIGHT); try again")
            self._admitted.add(stop)
            future = self._engine_thread.submit(turn)
        metrics.QUEUE_DEPTH.inc()
        try:
            return self._result(future, stop, started + self._deadline_seconds, still_wanted)
        finally:
            metrics.QUEUE_DEPTH.dec()
            with self._lock:
                self._admitted.discard(stop)

    def _result(self, future: Future[T], stop: Stop, until: float, still_wanted: Callable[[], bool]) -> T:
        """What ``future`` gives; stops the work when its time is over or its caller is gone."""
        while (left := until - time.perf_counter()) > 0:
            if wait([future], min(left, LOOK_SECONDS)).done:
                return future.result()
            if not still_wanted():
                if future.cancel():
                    raise _gone()
                stop.set(_gone())
                return future.result()
        limit = f"{self._deadline_seconds:g} s (SEMIF_DEADLINE_SECONDS)"
        if future.cancel():
            raise BusyError(f"busy: the turn did not come within {limit}; try again")
        stop.set(DeadlineError(f"aborted: not done within {limit}; shorten the state or send fewer decisions"))
        return future.result()

    def run_unasked(self, work: Callable[[Stop], None]) -> None:
        """Run ``work`` of the container's own when its turn comes; it takes no place. Does not wait."""

        def turn() -> None:
            try:
                work(self._unasked)
            except RequestError as error:
                log.warning("left undone: %s", error)
            except Exception:
                log.exception("left undone")

        self._engine_thread.submit(turn)

    def stop_after(self, seconds: float) -> None:
        """In ``seconds``, stop what is still admitted, and admit no more: callers are told to try elsewhere.

        Does not wait. What nobody asked for is stopped now.
        """
        self._unasked.set(_stopping())
        timer = threading.Timer(seconds, self._stop_all)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Wait for the engine thread to finish what it has and end it."""
        self._engine_thread.shutdown()

    def _stop_all(self) -> None:
        with self._lock:
            self._stopped = True
            for stop in self._admitted:
                stop.set(_stopping())


def _gone() -> ClientGoneError:
    return ClientGoneError("the caller hung up")


def _stopping() -> StoppingError:
    return StoppingError("the container is stopping; try again")
