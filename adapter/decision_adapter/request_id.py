"""The name of a request, which its answer and its log line have in common."""

import uuid

HEADERS = ("x-typesafe-request-id", "x-request-id")
"""The headers that carry it: where System One's clients look, and OpenAI's."""


def new() -> str:
    """A name that no other request has."""
    return f"req_{uuid.uuid4().hex}"
