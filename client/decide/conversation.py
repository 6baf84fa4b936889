"""A conversation with a chat endpoint: turns, and an answer that is shown while it comes."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from decide.chat_stream import chat_stream
from decide.completion import pieces
from decide.target import Target
from decision_client import ClientSettings, EndpointError


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    content: str
    finish_reason: str | None
    tokens: int | None
    """Where the server says how many."""
    pieces: int
    """Into how many it was cut; most servers send one a token."""
    first_seconds: float
    """Until the first word came, earlier attempts included."""
    total_seconds: float

    @property
    def pieces_per_second(self) -> float:
        """After the first; 0 where there is one alone."""
        seconds = self.total_seconds - self.first_seconds
        return (self.pieces - 1) / seconds if self.pieces > 1 and seconds > 0 else 0.0


@dataclass
class Conversation:
    """What was said so far, with one endpoint."""

    target: Target
    settings: ClientSettings
    options: dict[str, object]
    """Fields of each request beside the messages."""
    messages: list[dict[str, str]] = field(default_factory=list)

    def say(self, text: str, show: Callable[[str], None]) -> Answer:
        """The answer to ``text``, each piece given to ``show`` as it comes. Turns that failed are as if not said.

        Raises:
            DecisionClientError, DecideError: there is none, or it broke off.
        """
        messages = [*self.messages, {"role": "user", "content": text}]
        body = json.dumps({"messages": messages, **self.options, "stream": True}).encode()
        started = time.perf_counter()
        answer = self.settings.backoff.run(lambda: self._receive(body, started, show))
        self.messages = [*messages, {"role": "assistant", "content": answer.content}]
        return answer

    def _receive(self, body: bytes, started: float, show: Callable[[str], None]) -> Answer:
        told: list[str] = []
        reason, tokens, first = None, None, 0.0
        try:
            with chat_stream(self.target, body, self.settings) as chunks:
                for piece in pieces(chunks):
                    reason, tokens = piece.finish_reason or reason, piece.tokens or tokens
                    if piece.text:
                        first = first or time.perf_counter() - started
                        told.append(piece.text)
                        show(piece.text)
        except EndpointError as error:
            error.retryable = error.retryable and not told  # what was shown would be shown again
            raise
        return Answer("".join(told), reason, tokens, len(told), first, time.perf_counter() - started)
