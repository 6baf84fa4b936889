"""The decisions of one `decide_many`, on their way through a pool of threads."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from decision_client.decision import Decision
from decision_client.errors import EndpointError
from decision_client.outcome import Outcome, all_results
from decision_client.result import Result
from decision_client.settings import ClientSettings
from decision_client.sharing import Shared, share

Ask = Callable[[Shared, Callable[[], float]], list[Result]]
"""The results of a request; takes when, by `time.monotonic`, others of the same call were last answered."""


class Many:
    """One `decide_many`: its requests, and what becomes of its decisions."""

    def __init__(self, ask: Ask, settings: ClientSettings, decisions: Sequence[Decision]) -> None:
        self._ask = ask
        self._requests = share(decisions, settings.max_shared_decisions, settings.max_body_bytes)
        self._outcomes: dict[int, Outcome] = {}
        self._end: EndpointError | None = None
        """The error that ended it: what the requests after it would meet, too."""
        self._answered = 0.0
        """When one of its requests was last answered, by `time.monotonic`."""

    def submit(self, pool: ThreadPoolExecutor) -> list[Future[None]]:
        """Have ``pool`` ask; the futures end when what becomes of their decisions is known."""
        return [pool.submit(self._run, request) for request in self._requests]

    def results(self) -> list[Result]:
        """The results, once all requests are done.

        Raises:
            SomeFailedError: not every decision has one.
        """
        return all_results([self._outcomes[place] for place in range(len(self._outcomes))])

    def _run(self, shared: Shared) -> None:
        """Find the outcomes of ``shared``. A thread of the pool."""
        if self._end is not None:
            self._record(shared, [self._end] * len(shared.decisions))
            return
        try:
            self._record(shared, self._ask(shared, lambda: self._answered))
        except EndpointError as error:
            if error.of_the_decision and len(shared.decisions) > 1:
                for half in shared.halves():
                    self._run(half)
                return
            if not error.of_the_decision:
                self._end = error
            self._record(shared, [error] * len(shared.decisions))

    def _record(self, shared: Shared, outcomes: Sequence[Outcome]) -> None:
        self._outcomes.update(zip(shared.places, outcomes, strict=True))
        self._answered = time.monotonic()
