"""Whether a caller is still there, seen from its socket."""

import socket
import struct

from decision_adapter import connection


def test_a_caller_that_waits_is_there() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert connection.is_open({"gunicorn.socket": ours})


def test_a_caller_that_already_sent_its_next_request_is_there_and_nothing_of_it_is_lost() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"GET")
        assert connection.is_open({"gunicorn.socket": ours})
        assert ours.recv(3) == b"GET"


def test_a_caller_that_hung_up_is_gone() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        assert not connection.is_open({"gunicorn.socket": ours})


def test_a_caller_that_reset_the_connection_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.create_connection(listener.getsockname())
        ours, _ = listener.accept()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        with ours:
            assert not connection.is_open({"gunicorn.socket": ours})


def test_where_the_server_cannot_tell_the_caller_is_taken_to_be_there() -> None:
    assert connection.is_open({})
