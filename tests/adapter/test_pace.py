"""What is refused because it cannot be done in time."""

import pytest

from decision_adapter.errors import TooLargeError
from decision_adapter.pace import Pace


def test_nothing_is_refused_before_anything_was_measured() -> None:
    Pace(1).check(10**9)


def test_the_message_names_tokens_pace_and_limit() -> None:
    pace = Pace(55)
    pace.learn(100, 1.0)
    pace.check(5500)
    with pytest.raises(
        TooLargeError,
        match=r"^request: 6600 tokens take 66 s at the 100 tokens a second this container reaches, "
        r"at most 55 s \(SEMIF_DEADLINE_SECONDS\), which is 5500 tokens; ",
    ):
        pace.check(6600)


def test_one_slow_decode_does_not_refuse_what_was_possible_before_or_is_later() -> None:
    pace = Pace(10)
    pace.learn(100, 10.0)
    pace.learn(100, 1.0)
    pace.learn(100, 10.0)
    pace.check(1000)


def test_a_handful_of_tokens_says_nothing_about_the_pace() -> None:
    pace = Pace(10)
    pace.learn(1, 1.0)
    pace.check(1000)
