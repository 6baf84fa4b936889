"""A container that is reached by its URL, without SageMaker.

On urllib3, which botocore stands on: a documented API with a pool of connections for threads, and nothing more to
install.
"""

import urllib3

from decision_client import errors
from decision_client.errors import ConfigurationError, EndpointError, UnexpectedAnswerError, UnreachableError
from decision_client.settings import ClientSettings
from decision_client.transport import CONTENT_TYPE


class HttpTransport:
    """Posts to ``/invocations`` below a base URL."""

    def __init__(self, base_url: str, api_key: str | None, settings: ClientSettings) -> None:
        """Prepare; nothing is sent.

        Raises:
            ConfigurationError: the URL is not one of HTTP, or no header can carry the key.
        """
        self._headers = {"Content-Type": CONTENT_TYPE, **bearer(api_key)}
        self._base_url = checked(base_url).rstrip("/")
        timeout = urllib3.Timeout(connect=settings.connect_seconds, read=settings.read_seconds)
        self._pool = urllib3.PoolManager(maxsize=settings.connections, timeout=timeout, retries=False)

    def send(self, body: bytes) -> bytes:
        """The body of the container's answer, see `Transport.send`."""
        try:
            answer = self._pool.request("POST", f"{self._base_url}/invocations", body=body, headers=self._headers)
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(
                f"{self._base_url} cannot be reached: {error}; is the container running, and is this its URL?",
                retryable=not isinstance(error, urllib3.exceptions.SSLError),  # a certificate stays as it is
            ) from error
        if answer.status != 200:
            raise refusal(self._base_url, answer)
        return answer.data

    def close(self) -> None:
        """Close the pool's connections."""
        self._pool.clear()


def bearer(api_key: str | None) -> dict[str, str]:
    """The header that carries a key; none without one.

    Raises:
        ConfigurationError: no header can carry it.
    """
    if api_key is None:
        return {}
    if not (api_key and api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ConfigurationError("api_key (not shown): must be printable ASCII characters without spaces")
    return {"Authorization": f"Bearer {api_key}"}


def refusal(url: str, answer: urllib3.BaseHTTPResponse) -> EndpointError:
    """The error for an ``answer`` of ``url`` whose status is not 200."""
    location = answer.headers.get("Location")
    if 300 <= answer.status < 400 and location:
        return UnexpectedAnswerError(
            f"{url} redirects to {location[: errors.SHOWN_CHARACTERS]}, and redirects are not followed: give the URL "
            "that it leads to",
            status=answer.status,
        )
    return errors.of_answer(answer.status, answer.data, answer.headers.get("Retry-After"))


def checked(base_url: str) -> str:
    """``base_url``, when it is one.

    Raises:
        ConfigurationError: it is not.
    """
    try:
        url = urllib3.util.parse_url(base_url)
    except urllib3.exceptions.LocationParseError:
        url = urllib3.util.Url()
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise ConfigurationError(f"base URL {base_url!r}: must be as in http://127.0.0.1:8080, without a query")
    if url.auth is not None:
        raise ConfigurationError("base URL (not shown): must have no user and password; a key is given as the API key")
    return base_url
