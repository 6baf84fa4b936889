"""A small Hugging Face Hub, an S3 and the command line, all real: sockets, files and processes."""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import boto3
import pytest

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 120


@dataclass
class LocalHub:
    """What a Hub serves at one commit a repository, and what it was asked.

    Files that end in .gguf lie in large-file storage: /resolve/ redirects to another host, as the real one does.
    """

    folder: Path
    commits: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    # Bytes after which the storage host breaks its next answer off; None: it answers to the end.
    break_after_bytes: int | None = None
    unavailable_answers: int = 0
    endpoint: str = ""

    def add(self, repository: str, commit: str, files: Mapping[str, bytes]) -> None:
        self.commits[repository] = commit
        for name, content in files.items():
            path = self.folder / repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def headers_of(self, path_part: str, method: str = "GET") -> list[dict[str, str]]:
        return [headers for asked, path, headers in self.requests if asked == method and path_part in path]


class HubHandler(BaseHTTPRequestHandler):
    """Answers the three kinds of request that a download makes: tree, resolve and storage."""

    hub: ClassVar[LocalHub]
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """The test reads `hub.requests` instead."""

    def _answer(self) -> None:
        path = urlsplit(self.path).path
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.hub.requests.append((self.command, path, headers))
        if self.hub.unavailable_answers:
            self.hub.unavailable_answers -= 1
            self._send(503)
        elif path.startswith("/storage/"):
            self._stream(self.hub.folder / path.removeprefix("/storage/"))
        elif tree := re.fullmatch(r"/api/models/(.+)/tree/([0-9a-f]{40})", path):
            self._tree(*tree.groups())
        elif resolve := re.fullmatch(r"/(.+?)/resolve/([0-9a-f]{40})/(.+)", path):
            self._resolve(*resolve.groups())
        else:
            self._send(404)

    def _known(self, repository: str, commit: str) -> bool:
        if repository not in self.hub.commits:
            self._send(404, {"X-Error-Code": "RepoNotFound"})
        elif self.hub.commits[repository] != commit:
            self._send(404, {"X-Error-Code": "RevisionNotFound"})
        else:
            return True
        return False

    def _tree(self, repository: str, commit: str) -> None:
        if not self._known(repository, commit):
            return
        entries = [
            {"type": "directory" if path.is_dir() else "file", "path": path.name, "oid": "0" * 40, "size": 0}
            for path in (self.hub.folder / repository).iterdir()
        ]
        self._send(200, {"Content-Type": "application/json"}, json.dumps(entries).encode())

    def _resolve(self, repository: str, commit: str, name: str) -> None:
        if not self._known(repository, commit):
            return
        path = self.hub.folder / repository / name
        if not path.is_file():
            self._send(404, {"X-Error-Code": "EntryNotFound"})
            return
        digest = sha256_of(path)
        if not name.endswith(".gguf"):
            self._stream(path, {"X-Repo-Commit": commit, "ETag": f'"{digest[:40]}"'})
            return
        storage = f"http://localhost:{self.server.server_address[1]}/storage/{repository}/{name}"
        self._send(
            302,
            {
                "Location": storage,
                "X-Repo-Commit": commit,
                "X-Linked-ETag": f'"{digest}"',
                "X-Linked-Size": str(path.stat().st_size),
                "X-Xet-Hash": "0" * 64,
                "X-Xet-Refresh-Route": f"{self.hub.endpoint}/api/xet",
            },
        )

    def _stream(self, path: Path, headers: Mapping[str, str] = {}) -> None:
        size = path.stat().st_size
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        self.send_response(206 if asked else 200)
        for name, value in {**headers, "Content-Length": str(size - start)}.items():
            self.send_header(name, value)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.end_headers()
        if self.command == "HEAD":
            return
        with path.open("rb") as file:
            file.seek(start)
            if self.hub.break_after_bytes is None:
                shutil.copyfileobj(file, self.wfile, 1024 * 1024)
            else:
                self.wfile.write(file.read(self.hub.break_after_bytes))
                self.hub.break_after_bytes = None
                self.close_connection = True

    def _send(self, status: int, headers: Mapping[str, str] = {}, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(TIMEOUT_SECONDS)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalHub]:
    state = LocalHub(tmp_path / "hub")
    handler = type("Handler", (HubHandler,), {"hub": state})
    with serving(handler) as server:
        state.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        yield state


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of a MiniStack of this session."""
    port = free_port()
    command = [sys.executable, "-m", "ministack.app"]
    env = {**os.environ, "GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1", "SERVICES": "s3"}
    lines: list[str] = []
    listening_or_ended = threading.Event()

    def read_to_the_end(output: Iterable[str]) -> None:
        for line in output:
            lines.append(line)
            if "Running on" in line:
                listening_or_ended.set()
        listening_or_ended.set()

    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        reader = threading.Thread(target=read_to_the_end, args=[process.stdout])
        reader.start()
        try:
            assert listening_or_ended.wait(TIMEOUT_SECONDS)
            assert process.poll() is None, "".join(lines)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            reader.join(TIMEOUT_SECONDS)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Bucket:
    """A bucket of its own for one test."""

    name: str
    client: Any

    def put(self, key: str, content: bytes) -> str:
        self.client.put_object(Bucket=self.name, Key=key, Body=content)
        return f"s3://{self.name}/{key}"

    def get(self, key: str) -> tuple[bytes, dict[str, str]]:
        """The object's bytes and its user metadata."""
        answer = self.client.get_object(Bucket=self.name, Key=key)
        return answer["Body"].read(), answer["Metadata"]


@pytest.fixture
def bucket(s3_endpoint: str) -> Bucket:
    client = boto3.client(
        "s3", endpoint_url=s3_endpoint, aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
    )
    name = f"models-{uuid.uuid4().hex[:12]}"
    client.create_bucket(Bucket=name)
    return Bucket(name, client)


@dataclass(frozen=True)
class Build:
    """How a run of the command ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        """The JSON object on the last line of a successful build's stdout."""
        assert self.returncode == 0, self.stderr
        result = json.loads(self.stdout.splitlines()[-1])
        assert isinstance(result, dict)
        return result


@pytest.fixture
def build_env(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment with nothing of this machine's in it but the interpreter; the work directory is removed."""
    home = tmp_path / "home"
    home.mkdir()
    work = tmp_path / "work"
    yield {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
        "MODEL_WORK_DIR": str(work),
    }
    shutil.rmtree(work, ignore_errors=True)


@pytest.fixture
def run_build(build_env: dict[str, str], tmp_path: Path) -> Callable[..., Build]:
    """Runs `python -m model_build` as a process; `before` is Python run in it first."""

    def run(*arguments: str, before: str = "", **env: str) -> Build:
        program = f"import runpy, sys; {before}\nrunpy.run_module('model_build', run_name='__main__', alter_sys=True)"
        ended = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env={**build_env, **env},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return Build(ended.returncode, ended.stdout, ended.stderr)

    return run


@pytest.fixture
def unused_endpoint() -> str:
    """An address nobody listens on."""
    return f"http://127.0.0.1:{free_port()}"


@pytest.fixture
def forbidding_endpoint() -> Iterator[str]:
    """An S3 that denies everything, as IAM does."""

    class Forbidding(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing to say."""

    with serving(Forbidding) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"
