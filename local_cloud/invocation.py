"""SageMaker Runtime: a request to an endpoint goes to a container, and what goes wrong comes back as AWS reports it.

Everything here runs on MiniStack's event loop and never blocks it, so that many invocations are under way at a time.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import httpx2

from local_cloud import event_stream
from local_cloud.cloud import ACCOUNT_ID, REGION
from local_cloud.container import Container
from local_cloud.endpoint import Endpoint, Route
from local_cloud.errors import EndpointUnavailableError, ModelError, PayloadTooLargeError, ValidationError
from local_cloud.resources import Table
from local_cloud.running_variant import RunningVariant

MAX_BODY_BYTES = 25 * 1024 * 1024
RESPONSE_TIMEOUT_SECONDS = 60.0
CONTAINER_HEADER = "x-local-cloud-container"
"""Not AWS's: which container answered, as a URL that this machine reaches."""
_PATH = re.compile(r"/endpoints/(?P<endpoint>[^/]+)/invocations(?P<streaming>-response-stream)?")
_CUSTOM_ATTRIBUTES = "x-amzn-sagemaker-custom-attributes"
_SHOWN_CHARACTERS = 1000
_EXIT_STATUS_SECONDS = 1.0


@dataclass(frozen=True)
class Answer:
    """What a container answered. The body is `chunks` as they come when a stream was asked for, else `body`."""

    headers: dict[str, str]
    body: bytes
    chunks: AsyncIterator[bytes] | None


def is_invocation(path: str) -> bool:
    """Whether a request is one to an endpoint."""
    return _PATH.fullmatch(path) is not None


class Invoker:
    """Passes invocations on to the containers of endpoints."""

    def __init__(self, endpoints: Table[Endpoint], response_timeout_seconds: float = RESPONSE_TIMEOUT_SECONDS) -> None:
        self._endpoints = endpoints
        self._timeout_seconds = response_timeout_seconds
        # A connection of its own for each invocation: a kept one may be closed by the container just as it is used.
        self._client = httpx2.AsyncClient(
            trust_env=False, timeout=None, limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        )

    async def invoke(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The container's answer to an invocation; header names are lower case.

        Raises:
            EndpointUnavailableError: no such endpoint or variant, or not in service.
            PayloadTooLargeError: the body is over 25 MB.
            ModelError: the container answered with an error, too late, or not at all.
        """
        match = _PATH.fullmatch(path)
        if match is None:
            raise EndpointUnavailableError(f"{path} is not the path of an invocation")
        name, streaming = unquote(match["endpoint"]), match["streaming"] is not None
        if len(body) > MAX_BODY_BYTES:
            raise PayloadTooLargeError(f"the body has {len(body)} bytes; the limit is {MAX_BODY_BYTES}")
        route = self._route(name, headers)
        try:
            response = await self._send(name, route, headers, body, streaming)
        except BaseException:
            route.release()
            raise
        if streaming:
            return Answer(_answer_headers(response, route.variant, route.container), b"", _chunks(response, route))
        route.release()
        return Answer(_answer_headers(response, route.variant, route.container), response.content, None)

    def _route(self, name: str, headers: Mapping[str, str]) -> Route:
        try:
            endpoint = self._endpoints.get(name)
        except ValidationError as error:
            raise EndpointUnavailableError(f"Endpoint {name} of account {ACCOUNT_ID} not found.") from error
        target = headers.get("x-amzn-sagemaker-target-variant")
        route = endpoint.route(target)
        if route is not None:
            return route
        if endpoint.variants:
            known = ", ".join(variant.name for variant in endpoint.variants)
            raise EndpointUnavailableError(f"Variant {target} not found for endpoint {name}; it has {known}.")
        raise EndpointUnavailableError(f"Endpoint {name} of account {ACCOUNT_ID} is {endpoint.status}, not InService.")

    async def _send(
        self, name: str, route: Route, headers: Mapping[str, str], body: bytes, streaming: bool
    ) -> httpx2.Response:
        container = route.container
        if container is None:
            raise _model_error(name, None, 500, f"no instance runs: {route.variant.last_failure}")
        sent = {key: headers[key] for key in ("content-type", "accept", _CUSTOM_ATTRIBUTES) if key in headers}
        url = f"http://127.0.0.1:{container.port}/invocations"
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._client.send(
                    self._client.build_request("POST", url, headers=sent, content=body), stream=True
                )
                if not (streaming and response.is_success):
                    await response.aread()
        except TimeoutError as error:
            message = (
                f"Your invocation timed out while waiting for a response from container primary: {name} did not answer "
                f"within {self._timeout_seconds:.0f} s."
            )
            raise _model_error(name, container, 0, message) from error
        except httpx2.TransportError as error:
            raise await _unreachable(name, container, error) from error
        if response.is_success:
            return response
        raise _model_error(name, container, response.status_code, response.text)


async def _unreachable(endpoint: str, container: Container, error: Exception) -> ModelError:
    # A process that has just died closes its connections before its status is known.
    status = await asyncio.to_thread(container.exit_status, _EXIT_STATUS_SECONDS)
    what = f"broke the connection ({error!r})" if status is None else f"ended with status {status}"
    return _model_error(endpoint, container, 500, f"the container {what}; see {container.log.path}")


def _model_error(endpoint: str, container: Container | None, status: int, body: str) -> ModelError:
    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    kind = "client" if 400 <= status < 500 else "server"
    shown = body if len(body) <= _SHOWN_CHARACTERS else body[:_SHOWN_CHARACTERS] + "…"
    file = f", or {container.log.path}," if container else ""
    message = (
        f'Received {kind} error ({status}) from primary with message "{shown}". See the log group {group} in account '
        f"{ACCOUNT_ID}{file} for more information."
    )
    fields = {
        "OriginalStatusCode": status,
        "OriginalMessage": body,
        "LogStreamArn": f"arn:aws:logs:{REGION}:{ACCOUNT_ID}:log-group:{group}",
    }
    return ModelError(message, fields)


def _answer_headers(response: httpx2.Response, variant: RunningVariant, container: Container | None) -> dict[str, str]:
    # In lower case: MiniStack gives "Content-Type" the value it knows for the service, whatever the container said.
    headers = {
        "content-type": response.headers.get("content-type", "application/octet-stream"),
        "x-amzn-invoked-production-variant": variant.name,
    }
    if container is not None:
        headers[CONTAINER_HEADER] = f"http://127.0.0.1:{container.port}/"
    if _CUSTOM_ATTRIBUTES in response.headers:
        headers[_CUSTOM_ATTRIBUTES] = response.headers[_CUSTOM_ATTRIBUTES]
    return headers


async def _chunks(response: httpx2.Response, route: Route) -> AsyncIterator[bytes]:
    try:
        async with contextlib.aclosing(response):
            async for chunk in response.aiter_bytes():
                yield chunk
    finally:
        route.release()


async def event_stream_chunks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A body as event-stream messages; an error in its middle becomes the last one."""
    try:
        async for chunk in chunks:
            yield event_stream.payload_part(chunk)
    except httpx2.TransportError as error:
        yield event_stream.stream_error(
            "ModelStreamError", f"the container broke off: {error}", "ModelInvocationTimeExceeded"
        )


def event_stream_headers(answer: Answer) -> dict[str, str]:
    """The headers of a streaming answer; the container's content type moves to one of its own."""
    headers = dict(answer.headers)
    headers["x-amzn-sagemaker-content-type"] = headers.pop("content-type")
    return {**headers, "content-type": event_stream.CONTENT_TYPE}
