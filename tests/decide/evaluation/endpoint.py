"""A decision endpoint over real HTTP, whose logits are what a test says."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from tests.client.asked import result

Logits = Callable[[dict[str, Any]], list[float]]
"""Of the options of a decision, in the order in which they were sent."""


class Refused(Exception):  # noqa: N818  # what a test says, no error of its own
    """Answers a decision with a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Endpoint:
    """Where it is, and what it was asked."""

    def __init__(self, port: int, logits: Logits, temperature: float, calibration: str | None) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[dict[str, Any]] = []
        self.gguf_sha256 = "b1" * 32
        self._logits, self._temperature, self._calibration = logits, temperature, calibration

    def answer(self, body: bytes) -> tuple[int, dict[str, Any]]:
        decision = json.loads(body)["decision"]
        self.asked.append(decision)
        try:
            logits = self._logits(decision)
        except Refused as refused:
            return refused.status, {"error": str(refused)}
        told = result(decision, tuple(softmax([logit / self._temperature for logit in logits])))
        told |= {"option_logits": logits, "temperature": self._temperature}
        told["model"] |= {
            "gguf": {**told["model"]["gguf"], "sha256": self.gguf_sha256},
            "calibration": self._calibration,
        }
        return 200, {"result": told}


def softmax(values: list[float]) -> list[float]:
    """exp(values) over their sum."""
    powers = [math.exp(value - max(values)) for value in values]
    return [power / sum(powers) for power in powers]


@contextmanager
def endpoint(logits: Logits, temperature: float = 1.0, calibration: str | None = None) -> Iterator[Endpoint]:
    """An endpoint on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, told = here.answer(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # the name of the method it overrides
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        here = Endpoint(http.server_port, logits, temperature, calibration)
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield here
        finally:
            http.shutdown()
            thread.join()
