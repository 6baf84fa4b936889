"""Asks an endpoint for decisions, one or many, from threads or from an event loop.

boto3 knows no async, so the async methods run on the same few threads as `decide_many`: there are as many as requests
may be under way, which bounds both, and a request that still waits for its thread ends when its task is cancelled.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, Self

import boto3
from pydantic import BaseModel, ValidationError

from decision_client.decision import Decision
from decision_client.errors import ConfigurationError, UnexpectedAnswerError
from decision_client.http_transport import HttpTransport
from decision_client.many import Many
from decision_client.result import Result, Timing
from decision_client.sagemaker_transport import SageMakerTransport, default_session, endpoint_name
from decision_client.settings import ClientSettings
from decision_client.sharing import Shared
from decision_client.transport import Transport

_DEFAULTS = ClientSettings()


class Decides(Protocol):
    """What an application needs of a client: `DecisionClient`, or `testing.FakeDecisionClient` in its tests."""

    def decide(self, decision: Decision) -> Result:
        """The result of ``decision``."""

    def decide_many(self, decisions: Sequence[Decision]) -> list[Result]:
        """The results of ``decisions``, in their order."""

    async def decide_async(self, decision: Decision) -> Result:
        """The result of ``decision``."""

    async def decide_many_async(self, decisions: Sequence[Decision]) -> list[Result]:
        """The results of ``decisions``, in their order."""


class _OneResult(BaseModel):
    result: Result


class _SharedResults(BaseModel):
    results: list[Result]
    timing: Timing


class DecisionClient:
    """Asks one endpoint; from any thread. Close it, or use it as a context manager, to let its connections go."""

    def __init__(self, transport: Transport, settings: ClientSettings = _DEFAULTS) -> None:
        """Ask over ``transport``; `from_endpoint`, `from_environment` and `from_url` make one."""
        self._transport = transport
        self._settings = settings
        self._pool = ThreadPoolExecutor(settings.max_concurrency, thread_name_prefix="decision-client")
        self._closed = False

    @classmethod
    def from_endpoint(
        cls, name: str, *, session: boto3.Session | None = None, settings: ClientSettings = _DEFAULTS
    ) -> Self:
        """A client of the SageMaker endpoint ``name``, in the account and region of ``session`` (boto3's default).

        Raises:
            ConfigurationError: boto3 knows no region.
        """
        return cls(SageMakerTransport(name, session or default_session(), settings), settings)

    @classmethod
    def from_environment(
        cls, environment: str, *, session: boto3.Session | None = None, settings: ClientSettings = _DEFAULTS
    ) -> Self:
        """A client of the decision endpoint that ``environment`` deployed, as in ``dev``.

        Raises:
            NotFoundError: the environment has none in the account and region of ``session``.
            EndpointError, ConfigurationError: AWS could not be asked.
        """
        session = session or default_session()
        name = endpoint_name(environment, session, settings)
        return cls.from_endpoint(name, session=session, settings=settings)

    @classmethod
    def from_url(cls, base_url: str, *, api_key: str | None = None, settings: ClientSettings = _DEFAULTS) -> Self:
        """A client of a container at ``base_url``, as in ``http://127.0.0.1:8080``; the key is sent as a bearer token.

        Raises:
            ConfigurationError: the URL is not one of HTTP.
        """
        return cls(HttpTransport(base_url, api_key, settings), settings)

    def decide(self, decision: Decision) -> Result:
        """The result of ``decision``, asked for in the caller's thread.

        Raises:
            EndpointError: there is none; what can be retried has been until the deadline.
        """
        return self._ask(Shared((0,), (decision,)), lambda: 0.0)[0]

    def decide_many(self, decisions: Sequence[Decision]) -> list[Result]:
        """The results of ``decisions``, in their order. Those over an equal state share requests.

        Raises:
            SomeFailedError: not all have one; its `outcomes` has a result or an error for each.
            ConfigurationError: boto3 refused to send a request.
        """
        many = Many(self._ask, self._settings, decisions)
        futures = many.submit(self._pool)
        try:
            for future in futures:
                future.result()
        finally:
            _cancel(futures)
        return many.results()

    async def decide_async(self, decision: Decision) -> Result:
        """As `decide`, in one of the client's threads."""
        return await asyncio.wrap_future(self._pool.submit(self.decide, decision))

    async def decide_many_async(self, decisions: Sequence[Decision]) -> list[Result]:
        """As `decide_many`."""
        many = await asyncio.to_thread(Many, self._ask, self._settings, decisions)  # large states take a while
        futures = many.submit(self._pool)
        try:
            for future in futures:
                await asyncio.wrap_future(future)
        finally:
            _cancel(futures)
        return many.results()

    def close(self) -> None:
        """Wait for requests that are under way, which are not sent again, and close the connections."""
        self._closed = True
        self._pool.shutdown(cancel_futures=True)
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, shared: Shared, progress: Callable[[], float]) -> list[Result]:
        """The results of one request, which is sent again for as long as `Backoff.run` says."""
        body = shared.body()

        def attempt() -> bytes:
            if self._closed:
                raise ConfigurationError("the client is closed; make another")
            return self._transport.send(body)

        return _read(self._settings.backoff.run(attempt, progress=progress), shared.decisions)


def _read(answer: bytes, decisions: Sequence[Decision]) -> list[Result]:
    """The results in an ``answer`` to ``decisions``.

    Raises:
        UnexpectedAnswerError: it is not an answer to them.
    """
    try:
        if len(decisions) == 1:
            results = [_OneResult.model_validate_json(answer).result]
        else:
            shared = _SharedResults.model_validate_json(answer)
            results = [result.model_copy(update={"timing": shared.timing}) for result in shared.results]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "body"
        raise UnexpectedAnswerError(
            f"what answers does not speak the decision contract: {place}: {first['msg']}; is this a decision endpoint?",
            status=200,
        ) from error
    asked = [(decision.id, tuple(option.id for option in decision.options)) for decision in decisions]
    if [(result.id, result.option_ids) for result in results] != asked:
        raise UnexpectedAnswerError(
            "the answer is about other decisions or options than those that were sent", status=200
        )
    return results


def _cancel(futures: Sequence[Future[None]]) -> None:
    """Take back what has not begun; does nothing to the others."""
    for future in futures:
        future.cancel()
