"""A connection to a server of this machine, and waiting until that is ready."""

import http.client
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError

ANSWER_SECONDS = 120
START_SECONDS = 120
POLL_SECONDS = 0.005
STOP_SECONDS = 40


class Connection:
    """One kept connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)

    def post(self, path: str, body: object) -> tuple[int, Any, float]:
        """Status, JSON and the seconds to retry after (0 when not said) of the answer."""
        self._connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        return response.status, answer, float(response.headers.get("Retry-After", 0))

    def get(self, path: str) -> int:
        """Status of the answer."""
        self._connection.request("GET", path)
        response = self._connection.getresponse()
        response.read()
        return response.status

    def close(self) -> None:
        """Close it; the next request opens it again."""
        self._connection.close()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def running(command: list[str], environment: dict[str, str], port: int, ready: str, log: Path) -> Iterator[float]:
    """Run a server and give the seconds from its start until ``ready``, a path, said 200.

    Raises:
        BenchmarkError: it ended before, or takes too long.
    """
    started = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        _wait(process, port, ready, log, started + START_SECONDS)
        yield time.perf_counter() - started
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int, ready: str, log: Path, deadline: float) -> None:
    connection = Connection(port)
    while time.perf_counter() < deadline and process.poll() is None:
        try:
            if connection.get(ready) == 200:
                return
        except (OSError, http.client.HTTPException):  # nobody listens yet
            pass
        finally:
            connection.close()
        time.sleep(POLL_SECONDS)
    last = (log.read_text(errors="replace").strip().splitlines() or ["nothing"])[-1]
    raise BenchmarkError(f"the server was not ready: exit status {process.poll()}, its last line is: {last}")
