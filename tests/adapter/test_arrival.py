"""The time limit of a connection's reads."""

import socket

import pytest

from decision_adapter import arrival
from decision_adapter.arrival import LateRequest, TimedUnreader


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "ARRIVAL_SECONDS", 0.05)


def test_what_arrives_in_time_is_read_and_the_sockets_own_timeout_kept() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(7)
        unreader = TimedUnreader(ours)
        unreader.start_request()
        theirs.sendall(b"GET")
        assert unreader.read() == b"GET"
        theirs.shutdown(socket.SHUT_WR)
        assert unreader.read() == b""
        assert ours.gettimeout() == 7


def test_what_does_not_arrive_is_late(hurried: None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unreader = TimedUnreader(ours)
        unreader.start_request()
        with pytest.raises(LateRequest):
            unreader.read()


def test_the_time_is_the_requests_and_not_each_reads(hurried: None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unreader = TimedUnreader(ours)
        unreader.start_request()

        def read_on() -> None:
            while True:  # a byte for each read, for ever
                theirs.sendall(b"x")
                unreader.read()

        with pytest.raises(LateRequest):
            read_on()
        unreader.start_request()
        theirs.sendall(b"x")
        assert unreader.read()
