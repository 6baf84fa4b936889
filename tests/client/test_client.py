"""One decision and many, from threads and from an event loop, over a transport that tests answer for."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from decision_client import (
    AuthenticationError,
    Backoff,
    BusyError,
    ClientSettings,
    ConfigurationError,
    DeadlineError,
    Decision,
    DecisionClient,
    InvalidRequestError,
    Result,
    ScoringError,
    SomeFailedError,
    TooLargeError,
    UnexpectedAnswerError,
)
from decision_client.errors import DecisionClientError, EndpointError
from tests.client.asked import FakeTransport, answer, decision, ids, one_after_the_other

PATIENT = Backoff(deadline_seconds=60, first_seconds=0.001, cap_seconds=0.001)
IMPATIENT = Backoff(deadline_seconds=0)
WAIT_SECONDS = 60


def client(transport: FakeTransport, backoff: Backoff = PATIENT, **settings: Any) -> DecisionClient:
    return DecisionClient(transport, ClientSettings(backoff=backoff, **settings))


def refusing(error: EndpointError, refused: Callable[[list[str]], bool]) -> Callable[[bytes], bytes]:
    """Answers, but raises ``error`` to a request whose ids are ``refused``."""

    def respond(body: bytes) -> bytes:
        if refused(ids(body)):
            raise error
        return answer(body)

    return respond


def many(count: int, **fields: Any) -> list[Decision]:
    return [decision(f"d{number}", **fields) for number in range(count)]


def failed(raised: pytest.ExceptionInfo[SomeFailedError]) -> dict[int, DecisionClientError]:
    """The errors among the outcomes, by place."""
    return {place: one for place, one in enumerate(raised.value.outcomes) if isinstance(one, DecisionClientError)}


def test_a_decision_has_its_result() -> None:
    told = client(FakeTransport()).decide(decision("route"))
    assert (told.id, told.choice, told.probability, told.timing) == ("route", "account", 0.75, None)


def test_busy_answers_are_retried_to_success() -> None:
    told = answer(json.dumps({"decision": decision().wire()}).encode())
    transport = FakeTransport(one_after_the_other(BusyError("busy"), BusyError("busy"), told))
    assert client(transport).decide(decision()).choice == "account"
    assert transport.sent == [["d"]] * 3


def test_an_error_reaches_the_caller_with_the_endpoint_s_sentence() -> None:
    transport = FakeTransport(one_after_the_other(InvalidRequestError("decision.options: at least 2", status=400)))
    with pytest.raises(InvalidRequestError, match=r"decision.options: at least 2"):
        client(transport).decide(decision())


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (b"<html>", "body: Invalid JSON"),
        (b'{"choices": []}', "result: Field required"),
        (answer(json.dumps({"decision": decision("other").wire()}).encode()), "other decisions"),
        (answer(json.dumps({"decision": decision(options=[]).wire()}).encode()), "result: Value error, 0 option_ids"),
    ],
)
def test_what_does_not_speak_the_contract_is_said_to_be_no_decision_endpoint(told: bytes, says: str) -> None:
    with pytest.raises(UnexpectedAnswerError, match=says):
        client(FakeTransport(one_after_the_other(told))).decide(decision())


def test_many_share_requests_and_keep_their_order() -> None:
    transport = FakeTransport()
    asked = [decision("a", "x"), decision("b", "y"), decision("c", "x")]
    told = client(transport).decide_many(asked)
    assert [one.id for one in told] == ["a", "b", "c"]
    assert transport.sent == [["a", "c"], ["b"]]
    assert told[0].timing is not None
    assert (told[0].timing, told[1].timing) == (told[2].timing, None)


def test_none_are_none() -> None:
    assert client(FakeTransport()).decide_many([]) == []


@pytest.mark.parametrize("kind", [TooLargeError, DeadlineError, ScoringError, InvalidRequestError])
def test_a_shared_request_that_is_refused_is_split_until_it_passes(kind: type[EndpointError]) -> None:
    transport = FakeTransport(refusing(kind("decisions: 8, at most 3"), lambda sent: len(sent) > 3))
    told = client(transport).decide_many(many(8))
    assert [one.id for one in told] == [f"d{number}" for number in range(8)]
    assert [len(sent) for sent in transport.sent] == [8, 4, 2, 2, 4, 2, 2]


def test_a_bad_decision_costs_the_others_nothing() -> None:
    transport = FakeTransport(refusing(InvalidRequestError("options: at least 2"), lambda sent: "d5" in sent))
    with pytest.raises(SomeFailedError, match="1 of 16 decisions have no result; first, at index 5: options") as raised:
        client(transport).decide_many(many(16))
    assert isinstance(failed(raised)[5], InvalidRequestError)
    assert [one.id for one in raised.value.outcomes if isinstance(one, Result)] == [
        f"d{number}" for number in range(16) if number != 5
    ]


def test_what_every_request_would_meet_ends_the_call_and_keeps_what_is_done() -> None:
    # given an endpoint whose credentials expire after one request
    transport = FakeTransport(refusing(AuthenticationError("expired"), lambda sent: sent != ["d0"]))
    # when
    with pytest.raises(SomeFailedError) as raised:
        client(transport, max_shared_decisions=1).decide_many(many(20))
    # then it is told once, and not asked eighteen times more
    assert isinstance(raised.value.outcomes[0], Result)
    assert list(failed(raised)) == list(range(1, 20))
    assert transport.sent == [["d0"], ["d1"]]


def test_busy_beyond_the_deadline_ends_the_call() -> None:
    transport = FakeTransport(refusing(BusyError("busy"), lambda _: True))
    with pytest.raises(SomeFailedError, match=r"2 of 2 .*: busy"):
        client(transport, IMPATIENT, max_shared_decisions=1).decide_many(many(2))
    assert len(transport.sent) == 1


class Crowd:
    """Answers nobody before ``expected`` requests are there, and counts how many are at a time."""

    def __init__(self, expected: int) -> None:
        self._arrived = threading.Barrier(expected)
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0

    def __call__(self, body: bytes) -> bytes:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self._arrived.wait(WAIT_SECONDS)
        with self._lock:
            self._inside -= 1
        return answer(body)


def test_as_many_requests_are_under_way_as_allowed_and_no_more() -> None:
    crowd = Crowd(3)
    told = client(FakeTransport(crowd), max_concurrency=3, max_shared_decisions=1).decide_many(many(12))
    assert [one.id for one in told] == [f"d{number}" for number in range(12)]
    assert crowd.most == 3


def test_tasks_share_the_same_bound() -> None:
    crowd = Crowd(2)
    asking = client(FakeTransport(crowd), max_concurrency=2, max_shared_decisions=1)

    async def ask() -> list[Result]:
        one, other, several = await asyncio.gather(
            asking.decide_async(decision("a")), asking.decide_async(decision("b")), asking.decide_many_async(many(4))
        )
        return [one, other, *several]

    assert [one.id for one in asyncio.run(ask())] == ["a", "b", "d0", "d1", "d2", "d3"]
    assert crowd.most == 2


def test_an_event_loop_gets_the_same_errors() -> None:
    asking = client(FakeTransport(refusing(InvalidRequestError("bad"), lambda sent: "d1" in sent)))
    with pytest.raises(InvalidRequestError, match="bad"):
        asyncio.run(asking.decide_async(decision("d1")))
    with pytest.raises(SomeFailedError, match="1 of 3"):
        asyncio.run(asking.decide_many_async(many(3)))


def test_what_a_cancelled_task_has_not_begun_is_never_sent() -> None:
    # given a client whose only place is taken
    entered, release = threading.Event(), threading.Event()

    def hold(body: bytes) -> bytes:
        entered.set()
        assert release.wait(WAIT_SECONDS)
        return answer(body)

    transport = FakeTransport(hold)
    asking = client(transport)

    async def ask() -> None:
        first = asyncio.create_task(asking.decide_async(decision("first")))
        await asyncio.to_thread(entered.wait, WAIT_SECONDS)
        # when others that wait for it are cancelled
        others = [
            asyncio.create_task(asking.decide_async(decision("one"))),
            asyncio.create_task(asking.decide_many_async([decision("a", "x"), decision("b", "y")])),
        ]
        await asyncio.sleep(0)
        for other in others:
            other.cancel()
        assert all(
            isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*others, return_exceptions=True)
        )
        release.set()
        # then the first is answered
        assert (await first).id == "first"

    asyncio.run(ask())
    asking.close()
    assert transport.sent == [["first"]]


def test_a_client_lets_its_connections_go() -> None:
    transport = FakeTransport()
    with client(transport) as asking:
        asking.decide(decision())
        assert not transport.closed
    assert transport.closed


def test_a_closed_client_does_not_ask_again() -> None:
    # given a client that is closed while it waits for a busy endpoint
    asking: list[DecisionClient] = []

    def refuse(_: bytes) -> bytes:
        asking[0].close()
        raise BusyError("busy")

    transport = FakeTransport(refuse)
    asking.append(client(transport))
    # when, then
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="the client is closed; make another"):
            asking[0].decide(decision())
    assert len(transport.sent) == 1


def test_settings_that_cannot_work_are_all_named() -> None:
    with pytest.raises(
        ValueError, match=r"max_concurrency is 0, must be 1 or more; read_seconds is 0, must be above 0"
    ):
        ClientSettings(max_concurrency=0, read_seconds=0)


def test_a_read_lasts_longer_than_sagemaker_gives_a_container() -> None:
    assert ClientSettings().read_seconds > 60
