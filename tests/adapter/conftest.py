"""The adapter as a process, as SageMaker would start it, and its engine inside this one."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from decision_adapter.llama import library
from decision_adapter.llama.engine import LlamaEngine
from tests.tiny_models import ARCHITECTURES, write_tiny_model

START_SECONDS = 60
ANSWER_SECONDS = 120

# The default model's template ends like this: an empty thought closes the thinking that is disabled.
CHATML_WITH_THINKING = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}"
)


class Container:
    """A running adapter. One decode thread: its bits are those of any number, and a busy machine hurts it least."""

    def __init__(self, model_dir: Path, log_file: Path, serve: Path, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._log_file = log_file
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SEMIF_")}
        settings = {
            "SEMIF_MODEL_DIR": str(model_dir),
            "SEMIF_HOST": "127.0.0.1",
            "SEMIF_PORT": str(self.port),
            "SEMIF_THREADS": "1",
        }
        with log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(serve), "serve"], env=inherited | settings | environment, stdout=log, stderr=log
            )

    def wait_until_ready(self) -> "Container":
        return self._wait_for_ping(200)

    def wait_until_loading(self) -> "Container":
        return self._wait_for_ping(503)

    def _wait_for_ping(self, status: int) -> "Container":
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log()
            try:
                if self.request("GET", "/ping")[0] == status:
                    return self
            except ConnectionRefusedError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"/ping is not {status} after {START_SECONDS} s: {self.log()}")

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON of the answer; an iterable body is sent in chunks."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None
        finally:
            connection.close()

    def score(self, body: Any) -> tuple[int, Any]:
        return self.request("POST", "/invocations", json.dumps(body), Content_Type="application/json")

    def lines(self, body: str) -> list[str]:
        """The lines of a 200 that answers those of ``body``."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        try:
            connection.request("POST", "/invocations", body.encode(), {"Content-Type": "application/jsonlines"})
            response = connection.getresponse()
            text = response.read().decode()
            assert (response.status, response.getheader("Content-Type")) == (200, "application/jsonlines"), text
            return text.splitlines()
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        """The metric ``name``, with its labels as Prometheus writes them; 0 when there is none yet."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_SECONDS) as connection:
            connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            lines = connection.makefile("r", encoding="utf-8").read().splitlines()
        values = [line.removeprefix(f"{name} ") for line in lines if line.startswith(f"{name} ")]
        return float(values[0]) if values else 0.0

    def score_in_background(self, body: Any) -> Any:
        """A future of the answer; the request is known to be in the engine when this returns."""
        small = {"decision": {"id": "d", "state": "s", "question": "q", "options": OPTIONS}}
        pool = ThreadPoolExecutor(1)
        for _ in range(20):
            future = pool.submit(self.score, body)
            while not future.done():
                if self.score(small)[0] == 503:
                    pool.shutdown(wait=False)
                    return future
            assert future.result()[0] == 503, "scored before it was seen"  # a small one was faster: once more
        raise AssertionError("never admitted")

    def log(self) -> str:
        return self._log_file.read_text()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=40)


OPTIONS = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]


@pytest.fixture(scope="session")
def long_decision() -> dict[str, Any]:
    """A decision that takes seconds to score and fits the default limits."""
    return {
        "id": "long",
        "state": "The parcel was seen at the depot. " * 80,
        "question": "Was it seen?",
        "options": OPTIONS,
    }


@pytest.fixture(scope="session")
def model_dir(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model archive as SageMaker extracts it: GGUF, manifest, tokenizer files."""
    folder = tmp_path_factory.mktemp("model")
    (folder / smollm2_gguf.name).symlink_to(smollm2_gguf)
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "chat_template.jinja").write_text(CHATML_WITH_THINKING)
    manifest = {
        "gguf": {
            "repo": "example/smollm2",
            "revision": "0" * 40,
            "file": smollm2_gguf.name,
            "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            "bytes": smollm2_gguf.stat().st_size,
        },
        "tokenizer": {"repo": "example/tokenizer", "revision": "1" * 40},
    }
    (folder / "model-manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(scope="session")
def start_container(
    repository_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Container]]:
    """Start the adapter on a model folder; all that are started are stopped at the end."""
    logs, started = tmp_path_factory.mktemp("logs"), list[Container]()

    def start(model_dir: Path, **environment: str) -> Container:
        log_file = logs / f"{len(started)}.log"
        started.append(Container(model_dir, log_file, repository_root / "adapter" / "serve", **environment))
        return started[-1]

    yield start
    for container in started:
        container.stop()


@pytest.fixture(scope="session")
def container(start_container: Callable[..., Container], model_dir: Path) -> Container:
    """The adapter with SmolLM2 and a thinking ChatML template, ready; shared by the tests that only ask."""
    return start_container(model_dir, SEMIF_MAX_BODY_BYTES="20000", SEMIF_MAX_TOKENS="2048").wait_until_ready()


@pytest.fixture(scope="session")
def llama_library() -> library.Library:
    """llama.cpp, loaded into this process."""
    return library.load(None)


@pytest.fixture(scope="session", params=ARCHITECTURES)
def tiny_gguf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of each kind of memory in turn."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf", request.param)


@pytest.fixture(scope="session")
def engine(llama_library: library.Library, smollm2_gguf: Path) -> Iterator[LlamaEngine]:
    """SmolLM2 with its own template, loaded into this process."""
    engine = LlamaEngine(smollm2_gguf, None, max_tokens=768, threads=1, n_gpu_layers=0)
    engine.examine()
    yield engine
    engine.close()
