"""One temperature for many decisions: the one that makes their labels likeliest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from decide.evaluation.measures import Floats

LOWEST, HIGHEST = 0.05, 50.0
"""Where a temperature is looked for. At either end there is none: the labels are the likelier the further it goes."""

_FLAT = 1e-9
"""Of a mean log loss: no difference."""


@dataclass(frozen=True)
class Logits:
    """The options' logits of decisions, and where their labels stand."""

    values: Floats
    """Shape (decisions, most options); -inf where a decision has fewer."""
    places: NDArray[np.int64]
    """Shape (decisions,)."""

    @classmethod
    def of(cls, logits: Sequence[Sequence[float]], places: Sequence[int]) -> Self:
        """``logits``, one sequence a decision, with the places of the labels."""
        values = np.full((len(logits), max(map(len, logits))), -np.inf)
        for row, own in zip(values, logits, strict=True):
            row[: len(own)] = own
        return cls(values, np.asarray(places, dtype=np.int64))

    def __getitem__(self, some: NDArray[np.bool_] | NDArray[np.int64]) -> "Logits":
        return Logits(self.values[some], self.places[some])

    def __len__(self) -> int:
        return len(self.places)

    def losses(self, temperatures: Floats | float) -> Floats:
        """-ln of the probability of each label; ``temperatures`` is one for all, or one a decision."""
        scaled = self.values / np.reshape(temperatures, (-1, 1))
        of_label = scaled[np.arange(len(self)), self.places]
        result: Floats = special.logsumexp(scaled, axis=1) - of_label
        return result

    def probabilities(self, temperatures: Floats | float) -> Floats:
        """Softmax of each row; 0 where a decision has no option."""
        result: Floats = special.softmax(self.values / np.reshape(temperatures, (-1, 1)), axis=1)
        return result


def fit(logits: Logits) -> float:
    """The temperature with the least mean log loss; `LOWEST` or `HIGHEST` where that has none between them.

    The loss is convex in 1/T, so there is one minimum. Deterministic.
    """

    def loss(temperature: float) -> float:
        return float(logits.losses(temperature).mean())

    found = optimize.minimize_scalar(
        lambda log_temperature: loss(float(np.exp(log_temperature))),
        bounds=(np.log(LOWEST), np.log(HIGHEST)),
        method="bounded",
        options={"xatol": 1e-7},
    )
    least = float(np.exp(found.x))
    return next((end for end in (LOWEST, HIGHEST) if loss(end) <= loss(least) + _FLAT), least)


def at_an_end(temperature: float) -> bool:
    """Whether ``temperature`` is where the search ended rather than a minimum."""
    return temperature in (LOWEST, HIGHEST)
