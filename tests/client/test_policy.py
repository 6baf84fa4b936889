"""Which rule decides what is chosen."""

from typing import Any

import pytest

from decision_client import Choice, Policy
from decision_client.testing import result_of
from tests.client.asked import decision

SURE = Policy("people", min_probability=0.7, min_margin=0.5, min_option_mass=0.25)


def choose(policy: Policy, account: float, mass: float = 1.0) -> Choice:
    probabilities = {"account": account, "billing": 1 - account}
    return policy.choose(result_of(decision(), probabilities, allowed_token_mass=mass))


def test_an_option_that_passes_every_threshold_is_chosen() -> None:
    assert choose(SURE, 0.9) == Choice("account", "accepted", "'account' has the probability 0.900")


def test_a_threshold_that_is_just_reached_is_reached() -> None:
    assert choose(SURE, 0.75, mass=0.25).rule == "accepted"


@pytest.mark.parametrize(
    ("account", "mass", "rule", "reason"),
    [
        (0.9, 0.1, "min_option_mass", "the mass on the options is 0.100, below min_option_mass 0.25"),
        (0.4, 1.0, "min_probability", "the probability of 'billing' is 0.600, below min_probability 0.7"),
        (0.72, 1.0, "min_margin", "the margin of 'account' is 0.440, below min_margin 0.5"),
        (0.4, 0.1, "min_option_mass", "the mass on the options is 0.100, below min_option_mass 0.25"),
    ],
)
def test_the_first_threshold_that_is_not_reached_sends_to_the_fallback(
    account: float, mass: float, rule: str, reason: str
) -> None:
    assert choose(SURE, account, mass) == Choice("people", rule, reason)  # type: ignore[arg-type]  # one of the rules


def test_a_policy_without_thresholds_takes_what_comes() -> None:
    assert choose(Policy("people"), 0.5, mass=0.0).option_id == "account"


def test_thresholds_that_are_no_shares_are_all_named() -> None:
    wrong: Any = {"min_probability": 70, "min_margin": -0.1, "min_option_mass": float("nan")}
    with pytest.raises(ValueError, match=r"min_probability is 70, min_margin is -0.1, min_option_mass is nan"):
        Policy("people", **wrong)
