"""The seam between a client and whatever carries its requests."""

from typing import Protocol

CONTENT_TYPE = "application/json"


class Transport(Protocol):
    """Carries one request at a time, from any thread; never asks again by itself."""

    def send(self, body: bytes) -> bytes:
        """The body of the answer to a JSON ``body``.

        Raises:
            EndpointError: there was no answer, or it was an error.
            ConfigurationError: AWS does not know where to send it.
        """

    def close(self) -> None:
        """Let connections go."""
