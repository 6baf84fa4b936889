"""What is asked, and what callers meet."""

from itertools import islice

import pytest

from decide.benchmark.load import ask, run
from decide.benchmark.workload import decisions
from decision_client import BusyError, ScoringError, UnexpectedAnswerError
from tests.client.asked import FakeTransport, answer, decision, one_after_the_other

DECISION = decision()
ANSWER = answer(b'{"decision": {"id": "1", "options": [{"id": "a"}, {"id": "b"}]}}')


def test_a_seed_asks_the_same_and_another_does_not() -> None:
    first, again, other = (list(islice(decisions(20, seed, same_state=False), 5)) for seed in (1, 1, 2))
    assert first == again
    assert not {one.state for one in first} & {one.state for one in other}


def test_no_text_is_asked_about_twice_unless_it_is_wanted() -> None:
    new, same = (list(islice(decisions(20, 1, same_state=same), 50)) for same in (False, True))
    assert len({one.state for one in new}) == 50
    assert (len({one.state for one in same}), len({one.question for one in same})) == (1, 50)
    assert {len(str(one.state).split()) for one in same} == {20}


def test_a_busy_endpoint_is_asked_again_and_counted() -> None:
    transport = FakeTransport(one_after_the_other(BusyError("busy"), BusyError("busy"), ANSWER))
    sample = ask(transport, DECISION, patience_seconds=600)
    assert sample.refusals == 2
    assert sample.seconds > 0


def test_patience_ends() -> None:
    with pytest.raises(BusyError):
        ask(FakeTransport(one_after_the_other(BusyError("busy"))), DECISION, patience_seconds=0)


def test_callers_send_as_many_requests_as_they_are_told_to() -> None:
    transport, answered = FakeTransport(), list[None]()
    asked = decisions(5, 1, same_state=False)
    level = run(transport, asked, callers=4, requests=10, patience_seconds=600, answered=lambda: answered.append(None))
    assert sorted(int(name) for [name] in transport.sent) == list(range(1, 11))
    assert len(level.samples) == len(answered) == 10


def test_an_error_ends_the_level() -> None:
    transport = FakeTransport(one_after_the_other(ANSWER, ScoringError("it failed")))
    with pytest.raises(ScoringError, match="it failed"):
        run(
            transport,
            decisions(5, 1, same_state=False),
            callers=1,
            requests=9,
            patience_seconds=0,
            answered=lambda: None,
        )
    assert len(transport.sent) == 2


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"result": {}}'])
def test_what_is_no_decision_endpoint_is_told(body: bytes) -> None:
    with pytest.raises(UnexpectedAnswerError, match="decision contract"):
        ask(FakeTransport(one_after_the_other(body)), DECISION, patience_seconds=0)
