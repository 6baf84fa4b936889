"""What a client may be told; every field has a default that suits an endpoint with default settings."""

from dataclasses import dataclass, field

from decision_client.backoff import Backoff


@dataclass(frozen=True)
class ClientSettings:
    """Limits, time-outs and patience of a client."""

    max_concurrency: int = 1
    """Requests of `decide_many` and of the async methods that are under way at a time; the others wait here. As many as
    the endpoint has instances (times its ``max_in_flight``): a container scores one at a time and tells the rest that
    it is busy, so more only makes requests wait for longer."""
    max_shared_decisions: int = 8
    """Decisions in a request. The endpoint's ``max_shared_decisions``; with less, its state is read more often."""
    max_body_bytes: int = 262_144
    """Bytes of a request with several decisions. The endpoint's ``max_body_bytes``."""
    backoff: Backoff = field(default_factory=Backoff)
    """When a busy or unreachable endpoint is asked again."""
    connect_seconds: float = 5.0
    """For a connection to be made."""
    read_seconds: float = 70.0
    """Without a byte of the answer. Above the 60 s that SageMaker gives a container, so that it is SageMaker who says
    that they are over."""

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            ValueError: one is below 1 or not above 0; names all that are.
        """
        counts = ("max_concurrency", "max_shared_decisions", "max_body_bytes")
        durations = ("connect_seconds", "read_seconds")
        wrong = [
            *(f"{name} is {value}, must be 1 or more" for name in counts if (value := getattr(self, name)) < 1),
            *(f"{name} is {value}, must be above 0" for name in durations if not (value := getattr(self, name)) > 0),
        ]
        if wrong:
            raise ValueError("; ".join(wrong))

    @property
    def connections(self) -> int:
        """How many are kept open: room beside ``max_concurrency`` for `decide`, which runs in its caller's thread."""
        return self.max_concurrency + 10
