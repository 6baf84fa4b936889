"""One number for how sure a distribution is, by the formulas that System One documents."""

from collections.abc import Sequence


def choice_confidence(probabilities: Sequence[float]) -> float:
    """(n · max - 1) / (n - 1): 0 when all are equally likely, 1 when one is certain; two or more."""
    count = len(probabilities)
    return max(0.0, (count * max(probabilities) - 1) / (count - 1))


def score_confidence(probabilities: Sequence[float]) -> float:
    """max(0, 1 - Σ p(i) |i - k| / D) of two or more levels, k the likeliest of them.

    D is the mean distance of the levels from the middle of the scale.
    """
    count = len(probabilities)
    mode = max(range(count), key=lambda level: probabilities[level])
    spread = sum(probability * abs(level - mode) for level, probability in enumerate(probabilities))
    widest = sum(abs(level - (count - 1) / 2) for level in range(count)) / count
    return max(0.0, 1 - spread / widest)
