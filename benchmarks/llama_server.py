"""llama-server with its prompt cache: what a user would pick instead. Measured when it is on PATH."""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.http_client import Connection, free_port, running
from benchmarks.sides import Answer
from decision_adapter.decision import Decision
from decision_adapter.prompt import Scaffold, user_text
from decision_adapter.settings import Settings

PROBABILITIES = 40
"""Next-token probabilities asked for; a decision needs those of its letters."""

ALL_LAYERS = 999
"""llama-server has no word for all: more than a model has."""


class LlamaServerSide:
    """One slot, ``/completion`` with one token. It has no requests with several questions: they go one by one."""

    def __init__(self, port: int, scaffold: Scaffold) -> None:
        self._connection = Connection(port)
        self._scaffold = scaffold

    def score(self, decisions: Sequence[Decision]) -> Answer:
        """Score ``decisions``; the time is the caller's, HTTP included."""
        started = time.perf_counter()
        for decision in decisions:
            self._complete(decision)
        return Answer(time.perf_counter() - started, [], [])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _complete(self, decision: Decision) -> None:
        body = {
            "prompt": f"{self._scaffold.before}{user_text(decision)}{self._scaffold.after}",
            "n_predict": 1,
            "n_probs": PROBABILITIES,
            "temperature": 0,
            "cache_prompt": True,
            "id_slot": 0,
        }
        status, answer, _ = self._connection.post("/completion", body)
        if status != 200:
            raise BenchmarkError(f"llama-server answered {status}: {answer}")


@contextmanager
def llama_server(settings: Settings, scaffold: Scaffold, logs: Path) -> Iterator[LlamaServerSide | None]:
    """A running llama-server on the same model; None when there is none on PATH."""
    program = shutil.which("llama-server")
    if program is None:
        yield None
        return
    port = free_port()
    command = [program, "--model", str(settings.gguf_path), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--parallel", "1", "--ctx-size", str(settings.max_tokens)]
    command += ["--threads", str(settings.threads), "--threads-batch", str(settings.threads)]
    command += ["--n-gpu-layers", str(ALL_LAYERS if settings.n_gpu_layers < 0 else settings.n_gpu_layers)]
    log = logs / "llama-server.log"
    with running(command, dict(os.environ), port, "/health", log), closing(LlamaServerSide(port, scaffold)) as side:
        yield side
