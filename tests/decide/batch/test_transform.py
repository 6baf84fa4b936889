"""A job that is followed, at a small server that stands for SageMaker and S3; whole jobs run in tests/e2e."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Semaphore, Thread
from typing import Any

import pytest

from tests.decide.command import PATIENCE_SECONDS, Ended, decide, environment

KEYS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}
DECISION = {"id": "d", "state": "s", "question": "q", "options": [{"id": x, "description": x} for x in "ab"]}


class Aws:
    """What the jobs of the account are, and how often one was looked at."""

    def __init__(self) -> None:
        self.url = ""
        self.job: dict[str, Any] | None = None
        self.looks = Semaphore(0)


@pytest.fixture
def aws() -> Iterator[Aws]:
    account = Aws()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # ListObjectsV2
            self._answer(200, b"<ListBucketResult></ListBucketResult>")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            called = self.headers["X-Amz-Target"]
            if called == "SageMaker.DescribeTransformJob" and account.job is not None:
                self._answer(200, json.dumps(account.job).encode())
                account.looks.release()
                return
            code = "ParameterNotFound" if called.startswith("AmazonSSM") else "ResourceNotFound"
            self._answer(400, json.dumps({"__type": code, "message": "it says why"}).encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # the name of the method it overrides
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        account.url = f"http://127.0.0.1:{http.server_port}"
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield account
        http.shutdown()
        thread.join()


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "in.jsonl").write_text(json.dumps(DECISION))
    return ["batch", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.jsonl"), "--env", "dev", "--transform"]


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """What an earlier command has kept of a job."""
    job = {"name": "decide-x", "bucket": "b", "input_prefix": "i/", "output_prefix": "o/", "parts": [[[1, "x", None]]]}
    state = tmp_path / "out.jsonl.job"
    state.write_text(json.dumps(job))
    return state


def run(aws: Aws, arguments: list[str]) -> Ended:
    return decide(*arguments, AWS_ENDPOINT_URL=aws.url, **KEYS)


def test_ctrl_c_leaves_the_job_to_go_on_and_says_how_to_follow_and_to_stop_it(
    aws: Aws, arguments: list[str], started: Path
) -> None:
    aws.job = {"TransformJobStatus": "InProgress"}
    process = subprocess.Popen(
        [sys.executable, "-m", "decide", *arguments],
        env=environment(AWS_ENDPOINT_URL=aws.url, **KEYS),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for _ in range(2):
        assert aws.looks.acquire(timeout=PATIENCE_SECONDS)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (130, b"")
    assert b"stop-transform-job --transform-job-name decide-x" in err
    assert b"Traceback" not in err
    assert started.exists()


def test_a_failed_job_is_told_with_its_reason_and_forgotten(aws: Aws, arguments: list[str], started: Path) -> None:
    aws.job = {"TransformJobStatus": "Failed", "FailureReason": "no capacity"}
    told = run(aws, arguments)
    assert (told.status, told.out) == (8, "")
    assert "the transform job decide-x is Failed: no capacity" in told.err
    assert not started.exists()


def test_a_job_that_was_never_started_is_forgotten_and_an_environment_without_batch_is_told(
    aws: Aws, arguments: list[str], started: Path
) -> None:
    told = run(aws, arguments)
    assert told.status == 6
    assert "put [batch] into its settings" in told.err
    assert not started.exists()


def test_what_is_kept_of_a_job_and_cannot_be_read_is_told(aws: Aws, arguments: list[str], started: Path) -> None:
    started.write_text("{")
    told = run(aws, arguments)
    assert told.status == 3
    assert "remove it to start another job" in told.err
