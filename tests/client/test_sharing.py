"""Which decisions share a request."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from decision_client import Decision
from decision_client.sharing import Shared, share
from tests.client.asked import decision

MANY = 1000


def ids(requests: list[Shared]) -> list[list[str]]:
    return [[one.id for one in request.decisions] for request in requests]


def test_equal_states_share_wherever_they_stand() -> None:
    asked = [decision("a", "x"), decision("b", "y"), decision("c", "x"), decision("d", "y")]
    requests = share(asked, MANY, 10**6)
    assert ids(requests) == [["a", "c"], ["b", "d"]]
    assert [request.places for request in requests] == [(0, 2), (1, 3)]


def test_states_are_equal_when_an_endpoint_would_say_so() -> None:
    asked = [decision("a", {"n": 1}), decision("b", {"n": 1.0}), decision("c", {"n": True}), decision("d", {"n": 1})]
    assert ids(share(asked, MANY, 10**6)) == [["a", "d"], ["b"], ["c"]]


def test_a_request_has_no_id_twice() -> None:
    assert ids(share([decision("a"), decision("a"), decision("b")], MANY, 10**6)) == [["a"], ["a", "b"]]


def test_a_request_has_no_more_decisions_than_the_limit() -> None:
    asked = [decision(str(number)) for number in range(5)]
    assert ids(share(asked, 2, 10**6)) == [["0", "1"], ["2", "3"], ["4"]]


def test_a_request_that_is_filled_to_its_last_byte_is_sent_as_one() -> None:
    asked = [decision(str(number), "ä" * 50) for number in range(3)]
    whole = len(Shared((0, 1, 2), tuple(asked)).body())
    assert ids(share(asked, MANY, whole)) == [["0", "1", "2"]]
    assert ids(share(asked, MANY, whole - 1)) == [["0", "1"], ["2"]]


def test_a_decision_over_the_limit_is_sent_alone() -> None:
    asked = [decision("a", "x" * 500), decision("b", "x" * 500)]
    assert ids(share(asked, MANY, 100)) == [["a"], ["b"]]


def test_a_decision_alone_is_asked_as_one_and_several_as_several() -> None:
    assert json.loads(Shared((0,), (decision("a"),)).body())["decision"]["id"] == "a"
    several = json.loads(Shared((0, 1), (decision("a"), decision("b"))).body())
    assert [one["id"] for one in several["decisions"]] == ["a", "b"]


DECISIONS = st.lists(
    st.builds(decision, st.sampled_from("abcdefgh"), st.sampled_from(["x", "y", {"long": "é" * 300}])), max_size=30
)


@settings(deadline=None)  # as busy as the machine may be
@given(DECISIONS, st.integers(1, 5), st.integers(100, 2000))
def test_every_decision_is_sent_once_and_within_the_limits(
    asked: list[Decision], max_decisions: int, max_body_bytes: int
) -> None:
    requests = share(asked, max_decisions, max_body_bytes)
    placed = {place: one for request in requests for place, one in zip(request.places, request.decisions, strict=True)}
    assert [placed[place] for place in range(len(asked))] == asked
    assert sum(len(request.decisions) for request in requests) == len(asked)
    for request in requests:
        assert len(request.decisions) <= max_decisions
        assert len(request.decisions) == 1 or len(request.body()) <= max_body_bytes
