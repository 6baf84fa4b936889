"""From the logits of the next token to probabilities over the options."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decision_adapter.errors import ScoringError

READOUT = "next-token-logits"
PROBABILITY_STATUS = "uncalibrated: softmax over the declared options only"


@dataclass(frozen=True)
class OptionScores:
    """What the next-token distribution says about the options, in their order."""

    probabilities: list[float]
    """Softmax over the options' logits: they sum to 1 whatever the rest of the vocabulary got."""
    option_logits: list[float]
    allowed_token_mass: float
    """Share of the whole distribution that falls on the options; low means the model wanted to say something else."""
    full_vocab_argmax_id: int


def read(logits: NDArray[np.float32], answer_ids: Sequence[int]) -> OptionScores:
    """Scores of the tokens ``answer_ids``, computed in float64.

    Args:
        logits: float32, shape (n_vocab,).
        answer_ids: one token id for each option.

    Raises:
        ScoringError: a logit is NaN or infinite.
    """
    if not np.isfinite(logits).all():
        raise ScoringError(f"{np.count_nonzero(~np.isfinite(logits))} of {logits.size} logits are not finite")
    row = logits.astype(np.float64)
    options = row[list(answer_ids)]
    options_mass = log_sum_exp(options)
    return OptionScores(
        probabilities=np.exp(options - options_mass).tolist(),
        option_logits=options.tolist(),
        allowed_token_mass=min(1.0, float(np.exp(options_mass - log_sum_exp(row)))),
        full_vocab_argmax_id=int(row.argmax()),
    )


def log_sum_exp(values: NDArray[np.float64]) -> float:
    """log(Σ exp(values)) without overflow."""
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).sum()))
