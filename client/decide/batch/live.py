"""A live endpoint is asked for many records: a few requests at a time, each answer handed on as soon as it is there."""

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from decide.batch.records import Record
from decide.interrupts import finishing
from decision_client import (
    ClientSettings,
    ConfigurationError,
    DecisionClient,
    DecisionClientError,
    EndpointError,
    Result,
    SomeFailedError,
    UnexpectedAnswerError,
)
from decision_client.transport import Transport

Keep = Callable[[Sequence[dict[str, Any]]], None]
"""Takes lines of the output."""


@dataclass(frozen=True)
class Asked:
    """What became of a group of records."""

    lines: list[dict[str, Any]]
    """Of the output, for those that are settled."""
    end: DecisionClientError | None = None
    """Why there is no use in asking for more."""


class Live:
    """Asks one endpoint. Close it to let its connections go; what is under way is answered, and not asked again."""

    def __init__(self, transport: Transport, settings: ClientSettings) -> None:
        self._transport = transport
        self._settings = settings
        self._client = DecisionClient(transport, settings)
        self._closed = False

    def run(self, groups: Iterable[Sequence[Record]], keep: Keep) -> None:
        """Ask for all ``groups``, ``max_concurrency`` at a time; what is answered when this is interrupted is kept.

        Raises:
            EndpointError: the next requests would meet it, too.
        """
        under_way: set[Future[Asked]] = set()
        with ThreadPoolExecutor(self._settings.max_concurrency) as pool:
            try:
                for group in groups:
                    under_way.add(pool.submit(self._ask, group))
                    if len(under_way) == self._settings.max_concurrency:
                        under_way -= _settle(wait(under_way, return_when=FIRST_COMPLETED).done, keep)
                while under_way:
                    under_way -= _settle(wait(under_way, return_when=FIRST_COMPLETED).done, keep)
            except BaseException as error:
                with finishing(error):
                    self.close()
                    keep([line for one in wait(under_way).done for line in one.result().lines])
                raise

    def close(self) -> None:
        """Wait for what is under way."""
        self._closed = True
        self._client.close()

    def _ask(self, group: Sequence[Record]) -> Asked:
        """What becomes of ``group``. A thread of `run`'s."""
        decisions = [record.decision for record in group if record.decision is not None]
        try:
            if not decisions:
                return Asked([record.answered(self._pass_through(record.body)) for record in group])
            outcomes: Sequence[Result | DecisionClientError] = self._client.decide_many(decisions)
        except SomeFailedError as error:
            outcomes = error.outcomes
        except ConfigurationError as error:  # also: this has been closed meanwhile
            return Asked([], error)
        except EndpointError as error:
            outcomes = [error]
        return _asked(group, outcomes)

    def _pass_through(self, body: bytes) -> dict[str, Any]:
        """The answer to a body of another contract.

        Raises:
            EndpointError: there is none.
        """
        told = self._settings.backoff.run(lambda: self._send(body))
        try:
            answer = json.loads(told)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise UnexpectedAnswerError("what answers gives no JSON object; is this a decision endpoint?", status=200)
        return answer

    def _send(self, body: bytes) -> bytes:
        if self._closed:
            raise ConfigurationError("the client is closed")
        return self._transport.send(body)


def _settle(done: set[Future[Asked]], keep: Keep) -> set[Future[Asked]]:
    """Hand the lines of what is ``done`` on.

    Raises:
        DecisionClientError: one of them ends the run.
    """
    asked = [one.result() for one in done]
    keep([line for one in asked for line in one.lines])
    for one in asked:
        if one.end is not None:
            raise one.end
    return done


def _asked(group: Sequence[Record], outcomes: Sequence[Result | DecisionClientError]) -> Asked:
    lines: list[dict[str, Any]] = []
    end: DecisionClientError | None = None
    for record, outcome in zip(group, outcomes, strict=True):
        if isinstance(outcome, Result):
            lines.append(record.answered({"result": outcome.model_dump(exclude_unset=True)}))
        elif isinstance(outcome, EndpointError) and outcome.of_the_decision:
            lines.append(record.failed(str(outcome), outcome.status))
        else:
            end = outcome
    return Asked(lines, end)
