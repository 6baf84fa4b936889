"""What each request of a call is told about the others. What becomes of its decisions: test_client.py."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from decision_client import ClientSettings, Result
from decision_client.many import Many
from decision_client.sharing import Shared
from decision_client.testing import result_of
from tests.client.asked import decision


def test_a_request_knows_when_others_of_its_call_were_last_answered() -> None:
    # given a call of three requests
    seen: list[float] = []

    def ask(shared: Shared, progress: Callable[[], float]) -> list[Result]:
        seen.append(progress())
        return [result_of(one, {"account": 0.5, "billing": 0.5}) for one in shared.decisions]

    many = Many(ask, ClientSettings(max_shared_decisions=1), [decision(name) for name in "abc"])
    # when they are sent one after the other
    with ThreadPoolExecutor(1) as pool:
        many.submit(pool)
    # then
    assert [one.id for one in many.results()] == ["a", "b", "c"]
    first, second, third = seen
    assert 0 == first < second <= third
