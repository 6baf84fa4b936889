"""Some callers at a time ask an endpoint, each its next request as soon as it has an answer."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from pydantic import ValidationError

from decide.interrupts import finishing
from decision_client import BusyError, Decision, Result, UnexpectedAnswerError
from decision_client.decision import as_json
from decision_client.transport import Transport

PAUSE_SECONDS = 0.1
"""The most that a caller who was refused waits before it comes again."""


@dataclass(frozen=True)
class Sample:
    """One answered request."""

    seconds: float
    """From the first attempt to the answer: what its caller waited."""
    refusals: int
    """Attempts that met a busy endpoint."""
    result: Result


@dataclass(frozen=True)
class Level:
    """What a number of callers met."""

    samples: tuple[Sample, ...]
    seconds: float
    """From the first request to the last answer."""


def ask(
    transport: Transport, decision: Decision, patience_seconds: float, stopped: threading.Event | None = None
) -> Sample:
    """The sample of one request, which comes again while the endpoint is busy and nobody has ``stopped`` it.

    Raises:
        EndpointError: there is no answer; a `BusyError` when it was busy for ``patience_seconds``.
    """
    body = as_json({"decision": decision.wire()}).encode()
    started, refusals = time.perf_counter(), 0
    while True:
        try:
            answer = transport.send(body)
        except BusyError:
            if time.perf_counter() - started > patience_seconds or (stopped and stopped.is_set()):
                raise
            refusals += 1
            time.sleep(random.uniform(0, PAUSE_SECONDS))
            continue
        return Sample(time.perf_counter() - started, refusals, _result(answer))


def run(
    transport: Transport,
    asked: Iterator[Decision],
    *,
    callers: int,
    requests: int,
    patience_seconds: float,
    answered: Callable[[], None],
) -> Level:
    """Have ``callers`` send ``requests`` in all; ``answered`` is called after each.

    Raises:
        EndpointError: one of them has no answer.
    """
    taking, stopped = threading.Lock(), threading.Event()
    left = iter(range(requests))
    samples: list[Sample] = []

    def call() -> None:
        while not stopped.is_set():
            with taking:
                if next(left, None) is None:
                    return
                decision = next(asked)
            samples.append(ask(transport, decision, patience_seconds, stopped))
            answered()

    started = time.perf_counter()
    _call_together(call, callers, stopped)
    seconds = time.perf_counter() - started
    return Level(tuple(samples), seconds)


def _call_together(call: Callable[[], None], callers: int, stopped: threading.Event) -> None:
    """Return when all ``callers`` are done; when one fails, or this is interrupted, the others are ``stopped``."""
    calling: list[Future[None]] = []
    with ThreadPoolExecutor(callers) as pool:
        try:
            for _ in range(callers):
                calling.append(pool.submit(call))
            wait(calling, return_when=FIRST_EXCEPTION)
        except BaseException as error:
            stopped.set()
            with finishing(error):
                wait(calling)
            raise
        stopped.set()
    for one in calling:
        one.result()


def _result(answer: bytes) -> Result:
    try:
        return Result.model_validate(json.loads(answer)["result"])
    except (ValidationError, ValueError, LookupError, TypeError) as error:
        raise UnexpectedAnswerError(
            "what answers does not speak the decision contract; is this a decision endpoint?", status=200
        ) from error
