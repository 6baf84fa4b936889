"""Probabilities over the options, with numbers by hand."""

import math

import numpy as np
import pytest

from decision_adapter.errors import ScoringError
from decision_adapter.readout import log_sum_exp, read


def test_probabilities_and_mass_by_hand() -> None:
    # given a vocabulary whose tokens weigh 1, 2, 3 and 4: logits are the logarithms
    logits = np.log(np.array([1, 2, 3, 4], dtype=np.float32))
    # when the options are the tokens 2 and 0
    scores = read(logits, [2, 0])
    # then 3 to 1 between them, 4 of 10 on both, and token 3 is the likeliest of all
    assert scores.probabilities == pytest.approx([0.75, 0.25], abs=1e-7)
    assert scores.allowed_token_mass == pytest.approx(0.4, abs=1e-7)
    assert (scores.full_vocab_argmax_id, scores.full_vocab_argmax_is_option) == (3, False)
    assert scores.option_logits == [float(logits[2]), float(logits[0])]


def test_a_temperature_flattens_the_probabilities_and_nothing_else() -> None:
    # given weights 1, 2, 3 and 4, and a temperature of 2
    logits = np.log(np.array([1, 2, 3, 4], dtype=np.float32))
    scores, plain = read(logits, [3, 0], temperature=2.0), read(logits, [3, 0])
    # then the roots of 4 and 1 are 2 to 1
    assert scores.probabilities == pytest.approx([2 / 3, 1 / 3], abs=1e-7)
    assert plain.probabilities == pytest.approx([0.8, 0.2], abs=1e-7)
    assert scores.option_logits == plain.option_logits
    assert scores.allowed_token_mass == plain.allowed_token_mass == pytest.approx(0.5)
    assert scores.full_vocab_argmax_is_option


def test_large_logits_do_not_overflow() -> None:
    scores = read(np.array([10_000, 9_999, -10_000], dtype=np.float32), [0, 1])
    assert scores.probabilities == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.e)])
    assert scores.allowed_token_mass == 1.0


def test_logits_are_the_models_own_bits() -> None:
    value = np.float32(0.1)
    assert read(np.array([value, 0], dtype=np.float32), [0, 1]).option_logits[0] == float(value) != 0.1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_logits_that_are_no_numbers_are_an_error_wherever_they_are(bad: float) -> None:
    with pytest.raises(ScoringError, match="1 of 3 logits are not finite"):
        read(np.array([0, 1, bad], dtype=np.float32), [0, 1])


def test_log_sum_exp_by_hand() -> None:
    assert log_sum_exp(np.log(np.array([1.0, 2.0, 5.0]))) == pytest.approx(math.log(8))
