"""gunicorn's threaded worker, made safe against clients that are slow or send what is no request.

gunicorn gives each connection a thread of its pool, which then waits for whatever the client has not sent yet, and
lets the main loop wait for clients that do not hang up. As many slow clients as there are threads would make the
platform believe that the container is ill, and keep it from work for ever. So

- a connection on which nothing has arrived waits in the main loop, and a health check that has arrived whole has
  threads of its own;
- a request has `ARRIVAL_SECONDS` to arrive, and its answer `ANSWER_SECONDS` to be taken;
- an answer to a request that was not read to its end says that it is the last one of its connection, since what
  follows on it is no request;
- a connection that ends is watched by the main loop until the client has hung up too, instead of being waited for.
"""

import logging
import socket
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn import util  # type: ignore[import-untyped]
from gunicorn.http.body import Body, ChunkedReader  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from decision_adapter import metrics, request_id
from decision_adapter.arrival import TimedUnreader
from decision_adapter.refusals import answer, refusal

log = logging.getLogger(__name__)

ANSWER_SECONDS = 10
"""For a client to take its answer, once its buffers are full."""

HEALTH_ANSWER_SECONDS = 0.5
"""The same for a health check, whose threads are few."""

LINGER_SECONDS = 2
"""For a client to hang up after its last answer. Closing at once could lose that answer: what the client still sends
would be met with a reset."""

_HEALTH = "/ping"
_PING = b"GET /ping"
_END_OF_HEAD = b"\r\n\r\n"
_PEEKED_BYTES = 8192
_DROPPED_BYTES = 65536
_PING_THREADS = 2


class HealthFirstWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A `gthread` worker that answers `/ping` whatever its threads are waiting for, and waits for nobody for long."""

    def init_process(self) -> None:
        """Make the health checks' threads, in the worker's process."""
        self._health_pool = ThreadPoolExecutor(_PING_THREADS, thread_name_prefix="ping")
        self._lingering: deque[Any] = deque()  # connections, in the order of their timeouts
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

    def handle(self, conn: Any) -> Any:
        """Read and answer one request; false when it was the last of its connection. Any thread."""
        if not conn.initialized:
            conn.init()
            conn.parser.unreader = TimedUnreader(conn.sock)
        conn.parser.unreader.start_request()
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> bool:
        """Answer one request that can be read; false when it was the last of its connection. Any thread."""
        ends = req.should_close
        req.should_close = lambda: ends() or not _is_read(req.body)
        conn.sock.settimeout(HEALTH_ANSWER_SECONDS if req.path == _HEALTH else ANSWER_SECONDS)
        try:
            return bool(super().handle_request(req, conn))
        except TimeoutError:
            log.info("a client did not take its answer")
            return False

    def handle_error(self, req: Any, client: socket.socket, addr: object, exc: Exception) -> None:
        """Answer a request that cannot be read, in JSON. Any thread."""
        status, sentence = refusal(exc) or (500, "scoring failed")
        if status == 500:
            log.error("scoring failed: %s", exc, exc_info=exc)
        outcome, name = type(exc).__name__, request_id.new()
        log.info("request", extra={"fields": {"status": status, "outcome": outcome, "request_id": name}})
        metrics.REQUESTS.labels(outcome).inc()
        try:
            util.write_nonblock(client, answer(status, sentence, name))
        except OSError:  # the client is gone, or does not read
            log.info("a client did not take its refusal")

    def finish_request(self, conn: Any, fs: Future[Any]) -> None:
        """Wait for the connection's next request, or end it. The main loop only."""
        if fs.cancelled() or fs.exception() or fs.result():
            super().finish_request(conn, fs)
            return
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:  # the client is gone
            self._end(conn)
            return
        conn.timeout = time.monotonic() + LINGER_SECONDS
        self._lingering.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self._drop_what_arrives, conn))

    def _drop_what_arrives(self, conn: Any, sock: socket.socket) -> None:
        """Read on a connection that ends; end it when the client has. The main loop only."""
        try:
            ended = not sock.recv(_DROPPED_BYTES)
        except BlockingIOError:
            return
        except OSError:  # reset by the client
            ended = True
        if ended:
            self._lingering.remove(conn)
            self.poller.unregister(sock)
            self._end(conn)

    def murder_pending(self) -> None:
        """Close connections whose time is over. The main loop, at least once a second."""
        now = time.monotonic()
        if not self.alive:  # who has sent nothing yet does not hold up the end
            for conn in self.pending_conns:
                conn.timeout = min(conn.timeout, now + LINGER_SECONDS)
        super().murder_pending()
        while self._lingering and self._lingering[0].timeout <= now:
            conn = self._lingering.popleft()
            self.poller.unregister(conn.sock)
            self._end(conn)

    def _end(self, conn: Any) -> None:
        conn.close()
        self.nr_conns -= 1


def _is_read(body: Body) -> bool:
    """Whether nothing of ``body`` is left to be read, so that what follows on the connection is a request."""
    if body.failed or body.buf.tell():
        return False
    reader = body.reader
    if isinstance(reader, ChunkedReader):
        return reader.parser is None and not reader.buf.tell()
    return not reader.length


def _peek(connection: socket.socket) -> bytes | None:
    """What has arrived, without taking it; None when nothing has, b"" when nothing will."""
    try:
        return connection.recv(_PEEKED_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:  # the client is gone; the thread that reads finds that out in its own way
        return b""
