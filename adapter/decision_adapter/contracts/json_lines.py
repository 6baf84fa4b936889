"""JSON Lines: a body of many records, each a request of any contract, answered by a line each, in order.

A record is admitted to the engine by itself, all within the deadline of the one request that brought them:

    until one was scored    what can succeed later (busy, stopping) refuses the body as a whole, like any single request
    after that              a record waits for its place as long as there is time; the answer is a 200 in any case
    a record that fails     gets its contract's error, with the line's number and the status it would have had alone
"""

import io
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from decision_adapter import errors, json_body, preparation
from decision_adapter.contracts.contract import Asked, Contract
from decision_adapter.contracts.shape import contract_of
from decision_adapter.errors import (
    BusyError,
    ClientGoneError,
    DeadlineError,
    RequestError,
    ScoringError,
    TooLargeError,
)
from decision_adapter.scorer import Scores

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/jsonlines"
CONTENT_TYPES = (CONTENT_TYPE, "application/jsonl", "application/x-jsonlines", "application/x-ndjson")

MAX_RECORDS = 10_000
"""Bounds the answer: an error can be longer than the line it is about."""

PAUSE_SECONDS = 0.05
"""Between two attempts to get a place."""

Score = Callable[[Asked], Scores]


def answer(body: bytes, contracts: Sequence[Contract], score: Score, seconds_left: Callable[[], float]) -> bytes:
    """The lines that answer ``body``, one for each of its records.

    Args:
        body: lines end at a line feed, the last one may lack it. Blank lines are counted, but are no records.
        contracts: those a record can be written in.
        score: scores what one record asks for.
        seconds_left: until the deadline of the request.

    Raises:
        TooLargeError: more than ``MAX_RECORDS`` records.
        RequestError: nothing was scored, and the same body can succeed later; or nobody waits any more.
    """
    lines_sent = enumerate(io.BytesIO(body), start=1)
    records = list(islice(((number, line) for number, line in lines_sent if line.strip()), MAX_RECORDS + 1))
    if len(records) > MAX_RECORDS:
        raise TooLargeError(f"body: more than {MAX_RECORDS} records; send several requests")
    lines = _Turns(score, seconds_left).answers(records, contracts)
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


class _Turns:
    """The turns of one body's records at the engine."""

    def __init__(self, score: Score, seconds_left: Callable[[], float]) -> None:
        self._score = score
        self._seconds_left = seconds_left
        self._began = False
        """Whether the engine has had a record: from then on there is something to lose."""

    def answers(
        self, records: Sequence[tuple[int, bytes]], contracts: Sequence[Contract]
    ) -> Iterator[dict[str, object]]:
        for number, line in records:
            contract: Contract | None = None
            try:
                body = json_body.parse(line)
                contract = contract_of(body, contracts)
                asked = contract.ask(body)
                yield asked.answer(self._scores(asked))
            except ClientGoneError:
                raise
            except RequestError as error:
                if not self._began and type(error) in errors.RETRY_AFTER_SECONDS:
                    raise
                if isinstance(error, ScoringError):
                    log.exception("scoring failed")
                yield _refusal(number, error, contract)
            except Exception as error:
                log.exception("scoring failed")
                yield _refusal(number, ScoringError(str(error)), contract)

    def _scores(self, asked: Asked) -> Scores:
        """The scores of one record, once there is a place for it.

        Raises:
            BusyError: there is no time left for it, or no place and none was scored before it.
        """
        if not self._began:
            scores = self._first(asked)
            self._began = True
            return scores
        while self._seconds_left() > 0:
            try:
                return self._score(asked)
            except BusyError:
                with preparation.waiting():
                    time.sleep(PAUSE_SECONDS)
            except DeadlineError:
                break
        raise BusyError("no time left for this record before the deadline of the whole body; send it again")

    def _first(self, asked: Asked) -> Scores:
        try:
            return self._score(asked)
        except DeadlineError:
            self._began = True
            raise


def _refusal(number: int, error: RequestError, contract: Contract | None) -> dict[str, object]:
    body, status, _ = (contract.refuse if contract else errors.answer)(error)
    return {"line": number, "status": status, **body}
