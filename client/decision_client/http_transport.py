"""A container that is reached by its URL, without SageMaker.

On urllib3, which botocore stands on: a documented API with a pool of connections for threads, and nothing more to
install.
"""

import urllib3

from decision_client import errors
from decision_client.errors import ConfigurationError, UnreachableError
from decision_client.settings import ClientSettings
from decision_client.transport import CONTENT_TYPE


class HttpTransport:
    """Posts to ``/invocations`` below a base URL."""

    def __init__(self, base_url: str, api_key: str | None, settings: ClientSettings) -> None:
        """Prepare; nothing is sent.

        Raises:
            ConfigurationError: the URL is not one of HTTP, or no header can carry the key.
        """
        if api_key is not None and not (api_key and api_key.isascii() and api_key.isprintable() and " " not in api_key):
            raise ConfigurationError("api_key (not shown): must be printable ASCII characters without spaces")
        self._base_url = checked(base_url).rstrip("/")
        self._headers = {"Content-Type": CONTENT_TYPE}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
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
            raise errors.of_answer(answer.status, answer.data, answer.headers.get("Retry-After"))
        return answer.data

    def close(self) -> None:
        """Close the pool's connections."""
        self._pool.clear()


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
    return base_url
