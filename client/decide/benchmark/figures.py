"""The figures of a level, and of an endpoint."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from decide.benchmark.load import Level
from decision_client import ModelIdentity


@dataclass(frozen=True)
class Figures:
    """What a number of callers met, over states of one length. Seconds are the callers' unless they say otherwise."""

    state_words: int
    callers: int
    requests: int
    input_tokens: float
    """The median."""
    p50_seconds: float
    p90_seconds: float
    p95_seconds: float
    p99_seconds: float
    forward_p50_seconds: float
    """In the model, as the endpoint says."""
    total_p50_seconds: float
    """In the container, as the endpoint says, from the decoded request to the result."""
    decisions_per_second: float
    busy_rate: float
    """Share of all attempts that met a busy endpoint."""

    @classmethod
    def of(cls, level: Level, state_words: int, callers: int) -> "Figures":
        """The figures of a ``level``, which has at least one sample."""
        seconds = [sample.seconds for sample in level.samples]
        results = [sample.result for sample in level.samples]
        refusals = sum(sample.refusals for sample in level.samples)
        return cls(
            state_words=state_words,
            callers=callers,
            requests=len(seconds),
            input_tokens=statistics.median(result.input_tokens for result in results),
            p50_seconds=percentile(seconds, 50),
            p90_seconds=percentile(seconds, 90),
            p95_seconds=percentile(seconds, 95),
            p99_seconds=percentile(seconds, 99),
            forward_p50_seconds=percentile([result.forward_seconds for result in results], 50),
            total_p50_seconds=percentile([result.total_seconds for result in results], 50),
            decisions_per_second=len(seconds) / level.seconds,
            busy_rate=refusals / (refusals + len(seconds)),
        )


@dataclass
class Measured:
    """An endpoint and its figures."""

    name: str
    instance: str
    """Count and type; empty where they are not known."""
    hourly_price: float | None = None
    """Of all its instances."""
    first_seconds: float = 0.0
    """Of the very first request, with the connection it needed."""
    model: ModelIdentity = field(default_factory=ModelIdentity)
    figures: list[Figures] = field(default_factory=list)

    def fastest(self) -> Figures:
        """The figures of the level with most decisions a second, over the states that were measured first."""
        words = self.figures[0].state_words
        return max((one for one in self.figures if one.state_words == words), key=lambda one: one.decisions_per_second)

    def cost_per_thousand(self) -> float | None:
        """What a thousand decisions cost at that level; None where no price is known."""
        if self.hourly_price is None:
            return None
        return self.hourly_price / (self.fastest().decisions_per_second * 3600) * 1000

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        own = {"name": self.name, "instance": self.instance, "contract": "decision", "hourly_price": self.hourly_price}
        cost = self.cost_per_thousand() if self.figures else None
        return {
            **own,
            "cost_per_thousand": cost,
            "first_seconds": self.first_seconds,
            "model": self.model.model_dump(),
            "levels": [asdict(one) for one in self.figures],
        }


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of ``values`` that so many ``percent`` of them do not pass; of few, p99 is the largest."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
