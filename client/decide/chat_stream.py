"""The bytes of a chat completion while they come: from an endpoint of SageMaker's, or from a server behind a URL."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager

import urllib3
from botocore.config import Config

from decide.target import Target
from decision_client import ClientSettings, UnreachableError
from decision_client.aws_errors import told_as_ours
from decision_client.http_transport import bearer, checked, refusal

_JSON = "application/json"
_MOST_BYTES = 65_536


@contextmanager
def chat_stream(target: Target, body: bytes, settings: ClientSettings) -> Generator[Iterator[bytes], None, None]:
    """Send ``body``, with ``"stream": true`` in it, and give what is answered, chunk by chunk.

    Raises:
        DecisionClientError, DecideError: see `Target.transport`; while reading, the answer breaks off.
    """
    streaming = _from_url if target.url is not None else _from_sagemaker
    with streaming(target, body, settings) as chunks:
        yield chunks


def route(base_url: str) -> str:
    """Where completions are asked for: containers and OpenAI's servers have them at the same place.

    Raises:
        ConfigurationError: the URL is not one of HTTP.
    """
    base = checked(base_url).rstrip("/")
    return f"{base}/chat/completions" if base.endswith("/v1") else f"{base}/v1/chat/completions"


@contextmanager
def _from_url(target: Target, body: bytes, settings: ClientSettings) -> Generator[Iterator[bytes], None, None]:
    url = route(target.url or "")
    headers = {"Content-Type": _JSON, **bearer(target.api_key)}
    timeout = urllib3.Timeout(connect=settings.connect_seconds, read=settings.read_seconds)
    with urllib3.PoolManager(timeout=timeout, retries=False) as pool:
        with _told(url):
            answer = pool.request("POST", url, body=body, headers=headers, preload_content=False)
        try:
            if answer.status != 200:
                with _told(url):
                    raise refusal(url, answer)
            yield _read(_chunks(answer), url)
        finally:
            answer.close()


def _chunks(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    if answer.chunked:
        yield from answer.stream()
        return
    while chunk := answer.read1(_MOST_BYTES):
        yield chunk


def _read(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """``chunks``, whose failures are the endpoint's; not those of whoever takes them."""
    with _told(name):
        yield from chunks


@contextmanager
def _told(name: str) -> Generator[None, None, None]:
    try:
        yield
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise UnreachableError(
            f"{name} cannot be reached, or broke off: {error}; does the server run there?"
        ) from error


@contextmanager
def _from_sagemaker(target: Target, body: bytes, settings: ClientSettings) -> Generator[Iterator[bytes], None, None]:
    session = target.session()
    name = target.endpoint_name(session, settings, "chat")
    config = Config(
        connect_timeout=settings.connect_seconds,
        read_timeout=settings.read_seconds,
        retries={"total_max_attempts": 1, "mode": "standard"},
    )
    with told_as_ours(), closing(session.client("sagemaker-runtime", config=config)) as runtime:
        answer = runtime.invoke_endpoint_with_response_stream(
            EndpointName=name, ContentType=_JSON, Accept="text/event-stream", Body=body
        )
        with closing(answer["Body"]) as stream:
            parts = (part["PayloadPart"]["Bytes"] for part in stream if "PayloadPart" in part)
            yield _read(parts, name)
