"""Which decisions of many go into one request: those over the same state, whose tokens are then read once."""

from collections.abc import Sequence
from dataclasses import dataclass

from decision_client.decision import Decision, as_json

_COMMA_BYTES = len(", ")
_FRAME_BYTES = len('{"decisions": []}') - _COMMA_BYTES  # a comma is counted with each decision, and the last has none


@dataclass(frozen=True)
class Shared:
    """Decisions of one request, with their places among all."""

    places: tuple[int, ...]
    decisions: tuple[Decision, ...]

    def body(self) -> bytes:
        """The request."""
        if len(self.decisions) == 1:
            return as_json({"decision": self.decisions[0].wire()}).encode()
        return as_json({"decisions": [decision.wire() for decision in self.decisions]}).encode()

    def halves(self) -> tuple["Shared", "Shared"]:
        """The same decisions in two requests; there have to be two or more."""
        middle = len(self.decisions) // 2
        return (
            Shared(self.places[:middle], self.decisions[:middle]),
            Shared(self.places[middle:], self.decisions[middle:]),
        )


class _Open:
    """A request that more decisions may join."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.decisions: dict[str, Decision] = {}
        self._size_bytes = _FRAME_BYTES

    def takes(self, decision: Decision, size_bytes: int, max_decisions: int, max_body_bytes: int) -> bool:
        return (
            decision.id not in self.decisions
            and len(self.decisions) < max_decisions
            and self._size_bytes + size_bytes <= max_body_bytes
        )

    def add(self, place: int, decision: Decision, size_bytes: int) -> None:
        self.places.append(place)
        self.decisions[decision.id] = decision
        self._size_bytes += size_bytes


def share(decisions: Sequence[Decision], max_decisions: int, max_body_bytes: int) -> list[Shared]:
    """Requests for ``decisions``, in the order of the first decision of each.

    A request has decisions over one state, with ids that differ, at most ``max_decisions`` of them in at most
    ``max_body_bytes``. A decision that is larger by itself stands alone: the endpoint says what its limit is.
    """
    opened: list[_Open] = []
    last_of_state: dict[str, _Open] = {}
    for place, decision in enumerate(decisions):
        state, size_bytes = as_json(decision.state), len(as_json(decision.wire()).encode()) + _COMMA_BYTES
        request = last_of_state.get(state)
        if request is None or not request.takes(decision, size_bytes, max_decisions, max_body_bytes):
            request = last_of_state[state] = _Open()
            opened.append(request)
        request.add(place, decision, size_bytes)
    return [Shared(tuple(request.places), tuple(request.decisions.values())) for request in opened]
