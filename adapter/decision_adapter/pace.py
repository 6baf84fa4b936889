"""How fast this container decodes, and what therefore cannot be done in time."""

from decision_adapter.errors import TooLargeError

MIN_TOKENS = 32
"""Fewer new tokens say nothing about the pace: a decode has a cost of its own."""


class Pace:
    """The fastest decoding seen so far; what is too much even at that pace cannot finish.

    The fastest, not the latest: a warm-up next to a busy neighbour must not refuse for ever what can be done. What is
    merely slow is admitted, and stopped at the deadline.
    """

    def __init__(self, deadline_seconds: float) -> None:
        self._deadline_seconds = deadline_seconds
        self._seconds_per_token = 0.0

    def learn(self, tokens: int, seconds: float) -> None:
        """Take note that ``tokens`` new tokens took ``seconds`` to decode. Any thread."""
        if tokens < MIN_TOKENS:
            return
        seconds_per_token = seconds / tokens
        if self._seconds_per_token == 0.0 or seconds_per_token < self._seconds_per_token:
            self._seconds_per_token = seconds_per_token

    def check(self, tokens: int) -> None:
        """Refuse a request of ``tokens`` tokens that cannot be scored before the deadline.

        Raises:
            TooLargeError: with the tokens, the pace, and how many tokens would do.
        """
        needed_seconds = tokens * self._seconds_per_token
        if needed_seconds > self._deadline_seconds:
            raise TooLargeError(
                f"request: {tokens} tokens take {needed_seconds:.0f} s at the {1 / self._seconds_per_token:.0f} tokens "
                f"a second this container reaches, at most {self._deadline_seconds:g} s (SEMIF_DEADLINE_SECONDS), "
                f"which is {int(self._deadline_seconds / self._seconds_per_token)} tokens; shorten the state, send "
                "fewer decisions, or use a faster instance"
            )
