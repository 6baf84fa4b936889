"""From the logits of the next token to probabilities over the options. ``docs/readouts.md`` has the formulas."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decision_adapter.errors import ScoringError

READOUT = "next-token-logits"


@dataclass(frozen=True)
class OptionScores:
    """What the next-token distribution says about the options, in their order."""

    probabilities: list[float]
    """Softmax over the options' logits: they sum to 1 whatever the rest of the vocabulary got."""
    option_logits: list[float]
    allowed_token_mass: float
    """Share of the whole distribution that falls on the options; low means the model wanted to say something else."""
    full_vocab_argmax_id: int
    full_vocab_argmax_is_option: bool
    """Whether the likeliest of all tokens is the label of one of the options."""


def read(logits: NDArray[np.float32], answer_ids: Sequence[int], temperature: float = 1.0) -> OptionScores:
    """Scores of the tokens ``answer_ids``, computed in float64.

    Args:
        logits: float32, shape (n_vocab,).
        answer_ids: one token id for each option.
        temperature: what the options' logits are divided by before the softmax; the mass is that of the model itself.

    Raises:
        ScoringError: a logit is NaN or infinite.
    """
    row = finite(logits)
    options = row[list(answer_ids)]
    argmax = int(row.argmax())
    return OptionScores(
        probabilities=softmax(options / temperature).tolist(),
        option_logits=options.tolist(),
        allowed_token_mass=min(1.0, float(np.exp(log_sum_exp(options) - log_sum_exp(row)))),
        full_vocab_argmax_id=argmax,
        full_vocab_argmax_is_option=argmax in answer_ids,
    )


def finite(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """``logits`` in float64.

    Raises:
        ScoringError: a logit is NaN or infinite.
    """
    if not np.isfinite(logits).all():
        raise ScoringError(f"{np.count_nonzero(~np.isfinite(logits))} of {logits.size} logits are not finite")
    return logits.astype(np.float64)


def softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(values) over their sum."""
    result: NDArray[np.float64] = np.exp(values - log_sum_exp(values))
    return result


def log_sum_exp(values: NDArray[np.float64]) -> float:
    """log(Σ exp(values)) without overflow."""
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).sum()))
