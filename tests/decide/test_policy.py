"""Thresholds on a command line."""

import pytest

from decide.errors import UsageError
from decide.policy import policy_of
from decision_client import Policy


def test_options_make_a_policy_and_no_options_make_none() -> None:
    assert policy_of(None, None, None, None) is None
    assert policy_of("people", 0.5, None, 0.0) == Policy("people", min_probability=0.5)


def test_thresholds_need_a_fallback_and_have_to_be_shares() -> None:
    with pytest.raises(UsageError, match="--fallback is missing"):
        policy_of(None, 0.5, None, None)
    with pytest.raises(UsageError, match="from 0 to 1"):
        policy_of("people", 60.0, None, None)
