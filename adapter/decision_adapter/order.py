"""The order readout: an answer that does not depend on the order in which the options were sent.

The orders follow from the set of options alone: sorted, then rotated. Everything is added up in the sorted order too,
so even the last bit of an answer is the same whatever order was sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decision_adapter.decision import Option

MAX_ORDERS = 4
"""Orders scored; each costs a decode of the question. Up to as many options, each stands once in every place."""


@dataclass(frozen=True)
class Average:
    """The mean over the orders, the options as sent."""

    values: list[float]
    disagreement: float
    """Mean over the orders of the total variation distance to the mean, ½ Σ |p - mean|: from 0, all the same, to 1."""


def orders(options: Sequence[Option]) -> list[tuple[int, ...]]:
    """Orders to score: each the indexes into ``options`` as sent, in the order in which the model reads them."""
    canonical = sorted(range(len(options)), key=lambda index: (options[index].description, options[index].id))
    count = min(len(canonical), MAX_ORDERS)
    starts = [len(canonical) * rotation // count for rotation in range(count)]
    return [(*canonical[start:], *canonical[:start]) for start in starts]


def average(orders: Sequence[tuple[int, ...]], read: Sequence[Sequence[float]]) -> Average:
    """Mean and disagreement of ``read``, one row for each of ``orders``, each as the model read the options."""
    canonical = orders[0]
    rows = np.empty((len(orders), len(canonical)))
    for row, order, values in zip(rows, orders, read, strict=True):
        value_of = dict(zip(order, values, strict=True))
        row[:] = [value_of[index] for index in canonical]
    mean = rows.mean(axis=0)
    disagreement = float(np.abs(rows - mean).sum(axis=1).mean() / 2)
    mean_of = dict(zip(canonical, mean.tolist(), strict=True))
    return Average([mean_of[index] for index in range(len(canonical))], disagreement)
