"""What a contract is: how a body asks for decisions, how scores answer it, and how an error is told."""

from collections.abc import Callable
from dataclasses import dataclass

from decision_adapter.decision import Decision
from decision_adapter.errors import RequestError
from decision_adapter.scorer import Scores

ErrorAnswer = tuple[dict[str, object], int, dict[str, str]]
"""Body, HTTP status and headers."""


@dataclass(frozen=True)
class Asked:
    """What one body asks for."""

    decisions: tuple[Decision, ...]
    """At least one; they share their state."""
    answer: Callable[[Scores], dict[str, object]]
    """The body of the answer, from the scores of ``decisions``."""


@dataclass(frozen=True)
class Contract:
    """One way to ask for decisions, and to be answered."""

    name: str
    own_fields: tuple[str, ...]
    """Top-level fields by which a body is known as one of this contract: no other contract has them."""
    ask: Callable[[dict[str, object]], Asked]
    """What a body asks for. Raises RequestError."""
    refuse: Callable[[RequestError], ErrorAnswer]
    """How an error is told."""
