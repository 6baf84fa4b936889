"""A chat completion as it comes: the pieces of its text out of a stream of bytes.

The stream is Server-Sent Events, cut anywhere: `data: {"choices": [{"delta": {"content": "…"}}]}`, an empty line after
each, `data: [DONE]` at the end. A server that does not stream answers one JSON object, which is one piece.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from decision_client import UnexpectedAnswerError, UnreachableError
from decision_client.errors import of_answer

_END = "[DONE]"


@dataclass(frozen=True)
class Piece:
    """What one event adds."""

    text: str
    finish_reason: str | None = None
    tokens: int | None = None
    """Of the whole answer, where the server says it."""


def pieces(chunks: Iterable[bytes]) -> Iterator[Piece]:
    """The pieces of the answer in ``chunks``, each as soon as its event is whole.

    Raises:
        EndpointError: the answer is an error, no chat completion, or without its end.
    """
    ended = False
    for data in _events(chunks):
        if data == _END:
            return
        try:
            told = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UnexpectedAnswerError(
                f"what answers does not speak chat completions: {data[:200]}", status=200
            ) from error
        piece = _piece(told)
        ended = ended or piece.finish_reason is not None
        yield piece
    if not ended:  # nothing of HTTP's says so where the end of the connection is the end of the answer
        raise UnreachableError("the answer broke off before its end; what answers has stopped, or something cut it")


def _events(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of each event; of a body without events, all of it."""
    rest, whole = b"", b""
    streamed = False
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            streamed = streamed or line.startswith((b"data:", b":"))  # the second are comments, to keep it alive
            if line.startswith(b"data:"):
                yield line.removeprefix(b"data:").strip().decode("utf-8", "replace")
        if not streamed:
            whole += chunk
    if rest.startswith(b"data:"):
        yield rest.removeprefix(b"data:").strip().decode("utf-8", "replace")
    elif not streamed and whole.strip():
        yield whole.decode("utf-8", "replace")


def _piece(told: Any) -> Piece:
    """The piece that one event tells.

    Raises:
        EndpointError: it tells an error, or nothing of a completion.
    """
    if isinstance(told, dict) and "error" in told:
        code = told["error"].get("code") if isinstance(told["error"], dict) else None
        raise of_answer(code if isinstance(code, int) and code >= 400 else 500, json.dumps(told))
    try:
        tokens = (told.get("usage") or {}).get("completion_tokens")
        if not told["choices"]:
            return Piece("", tokens=tokens)
        choice = told["choices"][0]
        message = choice.get("delta") or choice.get("message") or {}
        return Piece(message.get("content") or "", choice.get("finish_reason"), tokens)
    except (LookupError, TypeError, AttributeError) as error:
        shown = json.dumps(told)[:200]
        raise UnexpectedAnswerError(f"what answers does not speak chat completions: {shown}", status=200) from error
