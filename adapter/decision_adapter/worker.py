"""gunicorn's threaded worker, with health checks that no slow client can hold up.

gunicorn gives each connection a thread of its pool, which then waits for whatever the client has not sent yet. As many
slow clients as there are threads would make the platform believe that the container is ill. So a connection on which
nothing has arrived waits in the main loop, and a health check that has arrived whole has threads of its own.
"""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

_PING = b"GET /ping"
_END_OF_HEAD = b"\r\n\r\n"
_PEEKED_BYTES = 8192
_PING_THREADS = 2


class HealthFirstWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A `gthread` worker that answers `/ping` whatever its threads are waiting for."""

    def init_process(self) -> None:
        """Make the health checks' threads, in the worker's process."""
        self._health_pool = ThreadPoolExecutor(_PING_THREADS, thread_name_prefix="ping")
        super().init_process()

    def enqueue_req(self, conn: Any) -> None:
        """Give a connection to the threads that may read it. The main loop only."""
        if conn.parser is not None and conn.parser.unreader.buf.getvalue():
            super().enqueue_req(conn)  # the next request has been read with the last one
            return
        arrived = _peek(conn.sock)
        if arrived is None:
            self._wait_for_data(conn)
        elif arrived.startswith(_PING) and _END_OF_HEAD in arrived:
            future = self._health_pool.submit(self.handle, conn)
            future.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))
        else:
            super().enqueue_req(conn)

    def _wait_for_data(self, conn: Any) -> None:
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn))


def _peek(connection: socket.socket) -> bytes | None:
    """What has arrived, without taking it; None when nothing has, b"" when nothing will."""
    try:
        return connection.recv(_PEEKED_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:  # the client is gone; the thread that reads finds that out in its own way
        return b""
