"""The requests of a batch transform job: how an object becomes bodies, and how one is sent until it is answered."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import httpx2

from local_cloud.container import Container
from local_cloud.errors import TransformError

_RETRY_PAUSE_SECONDS = 0.5
_SHOWN_CHARACTERS = 300


class Payload(NamedTuple):
    """The body of a request, and the number of its first line in the object, from 1."""

    line: int
    body: bytes


def payloads(content: bytes, max_bytes: int, records: int | None) -> Iterator[Payload]:
    """Lines put together into bodies; blank lines are left out.

    Args:
        content: of the object.
        max_bytes: the most a body of several lines may have; a line that is longer goes alone.
        records: the most lines of a body; None for as many as fit.
    """
    first, size, batch = 1, 0, list[bytes]()
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        if batch and (len(batch) == records or size + len(line) > max_bytes):
            yield Payload(first, b"\n".join(batch))
            batch = []
        if not batch:
            first, size = number, 0
        batch.append(line)
        size += len(line) + 1  # and a newline
    if batch:
        yield Payload(first, b"\n".join(batch))


@dataclass(frozen=True)
class Sender:
    """Sends the payloads of one object to one container."""

    client: httpx2.Client
    container: Container
    source: str
    headers: Mapping[str, str]
    max_payload_bytes: int
    max_retries: int
    stopping: threading.Event

    def __call__(self, payload: Payload) -> bytes:
        """The answer, asked for again while it fails for a reason that may pass; empty when the job is stopping.

        Raises:
            TransformError: too large, refused, or failed as often as may be; it names the object, the line and the log.
        """
        where = f"{self.source}, line {payload.line} (log: {self.container.log.path})"
        if len(payload.body) > self.max_payload_bytes:
            limit = self.max_payload_bytes >> 20
            raise TransformError(f"{where}: {len(payload.body)} bytes; MaxPayloadInMB allows {limit} MB")
        url = f"http://127.0.0.1:{self.container.port}/invocations"
        problem = ""
        for attempt in range(self.max_retries + 1):
            if self.stopping.wait(_RETRY_PAUSE_SECONDS * attempt):
                return b""
            try:
                response = self.client.post(url, content=payload.body, headers=dict(self.headers))
            except httpx2.TransportError as error:
                problem = f"no answer ({error!r})"
                continue
            if response.is_success:
                return response.content
            problem = f"status {response.status_code}: {response.text[:_SHOWN_CHARACTERS]}"
            if response.is_client_error:
                break
        raise TransformError(f"{where}: {problem}")
