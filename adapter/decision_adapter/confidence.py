"""How sure an answer is, from 0 to 1: one number from its probabilities, as decision APIs define it."""

from collections.abc import Sequence


def of_choice(probabilities: Sequence[float]) -> float:
    """``(n max - 1) / (n - 1)`` for ``n`` options: 0 when all are equally likely, 1 when one is certain."""
    count = len(probabilities)
    return max(0.0, (count * max(probabilities) - 1) / (count - 1))


def of_score(probabilities: Sequence[float]) -> float:
    """``max(0, 1 - Σ p(i) |i - k| / D)``: how close the probabilities lie to the likeliest level ``k``.

    ``D = 1/n Σ |i - (n - 1)/2|`` is the mean distance of ``n`` equally likely levels from the middle of the scale.
    """
    count = len(probabilities)
    mode = probabilities.index(max(probabilities))
    spread = sum(abs(level - (count - 1) / 2) for level in range(count)) / count
    return max(0.0, 1 - sum(p * abs(level - mode) for level, p in enumerate(probabilities)) / spread)
