"""Whether the caller of a request is still there."""

import select
import socket
from collections.abc import Mapping
from typing import Any


def is_open(environ: Mapping[str, Any]) -> bool:
    """Whether the client of the WSGI request ``environ`` has not hung up; True where the server cannot tell.

    A client that only closed its sending side looks the same as one that is gone. HTTP clients that wait for an answer
    do not do that.
    """
    connection: socket.socket | None = environ.get("gunicorn.socket")
    if connection is None:
        return True
    readable = select.poll()
    readable.register(connection, select.POLLIN)
    if not readable.poll(0):
        return True
    try:
        # At the end of the stream there is nothing; anything else is the next request. Peeking leaves it there.
        return connection.recv(1, socket.MSG_PEEK) != b""
    except OSError:  # reset by the client
        return False
