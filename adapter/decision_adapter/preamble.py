"""The marginal readout: looking through the token that a model would rather say before a label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decision_adapter.readout import finite, log_sum_exp, softmax

PREAMBLES = 3
"""Tokens looked through: each costs a decode of the question and itself."""


@dataclass(frozen=True)
class Path:
    """A way to a label: the label at once, or after one other token."""

    token_id: int | None
    """The token said first; None for the label at once."""
    probability: float
    """P(token); 1 for the label at once."""
    option_mass: float
    """P(token) · Σ P(label | token): what this way adds to the mass of the options."""


@dataclass(frozen=True)
class Marginal:
    """Probabilities of the options over all ways to their labels."""

    probabilities: list[float]
    paths: list[Path]

    @property
    def mass(self) -> float:
        """Share of all texts that begin with a label, or with one of the preambles and a label."""
        return min(1.0, sum(path.option_mass for path in self.paths))


def preamble_ids(logits: NDArray[np.float32], answer_ids: Sequence[int]) -> list[int]:
    """The likeliest tokens that are no label, the likeliest first; none when the likeliest of all tokens is a label.

    Args:
        logits: float32, shape (n_vocab,).
        answer_ids: token ids of the labels.

    Raises:
        ScoringError: a logit is NaN or infinite.
    """
    row = finite(logits)
    if int(row.argmax()) in answer_ids:
        return []
    row[list(answer_ids)] = -np.inf
    found: list[int] = []
    for _ in range(min(PREAMBLES, row.size - len(answer_ids))):
        found.append(int(row.argmax()))  # of equals, the one with the lower id
        row[found[-1]] = -np.inf
    return found


def marginal(
    logits: NDArray[np.float32],
    answer_ids: Sequence[int],
    after: Sequence[tuple[int, NDArray[np.float32]]],
    temperature: float = 1.0,
) -> Marginal:
    """P(option) ∝ (P(label) + Σ P(token) · P(label | token)) ** (1 / temperature), the sum over ``after``.

    Args:
        logits: of the prompt, float32, shape (n_vocab,).
        answer_ids: one token id for each option.
        after: preamble tokens with the logits that follow each.
        temperature: of the calibration; 1 leaves the sum as it is.

    Raises:
        ScoringError: a logit is NaN or infinite.
    """
    row, labels = finite(logits), list(answer_ids)
    log_all = log_sum_exp(row)
    ways = [row[labels] - log_all]
    paths = [Path(None, 1.0, float(np.exp(log_sum_exp(ways[0]))))]
    for token, following in after:
        next_row = finite(following)
        log_token = row[token] - log_all
        ways.append(log_token + next_row[labels] - log_sum_exp(next_row))
        paths.append(Path(token, float(np.exp(log_token)), float(np.exp(log_sum_exp(ways[-1])))))
    options = np.logaddexp.reduce(np.stack(ways), axis=0)
    return Marginal(softmax(options / temperature).tolist(), paths)
