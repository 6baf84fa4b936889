"""One request at a time is prepared, and who waits lets others."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from decision_adapter import preparation

PATIENCE_SECONDS = 10


def others_turn_comes(pool: ThreadPoolExecutor) -> Callable[[], bool]:
    """Start a thread that wants its turn; says whether it came."""
    came = threading.Event()

    def prepare() -> None:
        with preparation.alone():
            came.set()

    pool.submit(prepare)
    return lambda: came.wait(PATIENCE_SECONDS)


def test_the_others_turn_comes_after_ours_even_if_ours_fails() -> None:
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="ours"), preparation.alone():  # noqa: PT012
            came = others_turn_comes(pool)
            assert preparation._turn.locked()
            raise ValueError("ours")
        assert came()


def test_who_waits_lets_others_have_their_turn_and_has_its_own_again_afterwards() -> None:
    with ThreadPoolExecutor(1) as pool, preparation.alone():
        came = others_turn_comes(pool)
        with pytest.raises(ValueError, match="ours"), preparation.waiting():  # noqa: PT012
            assert came()
            raise ValueError("ours")
        assert preparation._turn.locked()
    assert not preparation._turn.locked()


def test_who_waits_without_a_turn_takes_none_away() -> None:
    with ThreadPoolExecutor(1) as pool, preparation.alone():

        def wait() -> bool:
            with preparation.waiting():
                return preparation._turn.locked()

        assert pool.submit(wait).result(PATIENCE_SECONDS)
