"""The image build's program, with a docker that only writes down what it is asked and an ECR on loopback."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BASE = f"public.ecr.aws/deep-learning-containers/llama-cpp@sha256:{'a' * 64}"
DIGEST = f"sha256:{'b' * 64}"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
REPOSITORY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/decision"
ENVIRONMENT = {
    "IMAGE_REPOSITORY_URI": REPOSITORY,
    "IMAGE_TAG": "0123abcd",
    "IMAGE_BASE": BASE,
    "IMAGE_PLATFORM": "linux/amd64",
    "LLAMA_CPP_PYTHON_VERSION": "0.3.35",
}

DOCKER = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
with (folder / "calls.jsonl").open("a") as calls:
    typed = sys.stdin.read() if "--password-stdin" in sys.argv else ""
    calls.write(json.dumps({{"arguments": sys.argv[1:], "typed": typed}}) + "\\n")
print("docker says something")
if sys.argv[1] == "push":
    (folder / "pushed").touch()
sys.exit(7 if sys.argv[1] == os.environ.get("DOCKER_FAILS_AT") else 0)
"""


class Registry:
    """What ECR answers: the image is there once docker has pushed it."""

    def __init__(self, pushed: Path, media_type: str = DOCKER_MANIFEST) -> None:
        self.pushed = pushed
        self.media_type = media_type
        self.asked: list[dict[str, Any]] = []

    def answer(self, action: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if action == "GetAuthorizationToken":
            token = base64.b64encode(b"AWS:a secret").decode()
            return 200, {"authorizationData": [{"authorizationToken": token}]}
        self.asked.append(request)
        if not self.pushed.exists():
            return 400, {"__type": "ImageNotFoundException", "message": "no such tag"}
        return 200, {"imageDetails": [{"imageDigest": DIGEST, "imageManifestMediaType": self.media_type}]}


class Build:
    """Runs the program with its own docker on PATH."""

    def __init__(self, folder: Path, program: Path, endpoint: str, registry: Registry) -> None:
        self.registry = registry
        self._folder, self._program, self._endpoint = folder, program, endpoint
        docker = folder / "docker"
        docker.write_text(DOCKER.format(python=sys.executable, folder=str(folder)))
        docker.chmod(0o755)

    def run(self, **changes: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self._folder}:{os.environ['PATH']}",
            "AWS_ENDPOINT_URL": self._endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            **ENVIRONMENT,
            **changes,
        }
        return subprocess.run(
            [sys.executable, str(self._program)],
            check=False,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def docker_calls(self) -> list[dict[str, Any]]:
        calls = self._folder / "calls.jsonl"
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []


@pytest.fixture
def build(tmp_path: Path, repository_root: Path) -> Iterator[Build]:
    registry = Registry(tmp_path / "pushed")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = registry.answer(self.headers["X-Amz-Target"].rpartition(".")[2], request)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        yield Build(tmp_path, repository_root / "adapter" / "image_build.py", endpoint, registry)
        server.shutdown()
        thread.join()


def test_an_image_is_built_pushed_and_named_by_digest(build: Build, repository_root: Path) -> None:
    # when
    done = build.run()
    # then the one line on standard output is the result
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "image_uri": f"{REPOSITORY}@{DIGEST}",
        "digest": DIGEST,
        "tag": "0123abcd",
        "base": BASE,
    }
    # and docker was asked for this, the password not on its command line
    login, built, pushed = build.docker_calls()
    assert login["arguments"] == ["login", "--username", "AWS", "--password-stdin", REPOSITORY.partition("/")[0]]
    assert login["typed"] == "a secret"
    assert built["arguments"] == [
        *("build", "--platform", "linux/amd64", "--provenance=false", "--build-arg", f"BASE_IMAGE={BASE}"),
        *("--build-arg", "LLAMA_CPP_PYTHON_VERSION=0.3.35", "--tag", f"{REPOSITORY}:0123abcd"),
        str(repository_root / "adapter"),
    ]
    assert pushed["arguments"] == ["push", f"{REPOSITORY}:0123abcd"]
    assert build.registry.asked[0] == {"repositoryName": "team/decision", "imageIds": [{"imageTag": "0123abcd"}]}


def test_an_image_that_is_there_is_not_built_again(build: Build) -> None:
    build.registry.pushed.touch()
    done = build.run()
    assert json.loads(done.stdout)["digest"] == DIGEST
    assert build.docker_calls() == []


@pytest.mark.parametrize("step", ["login", "build", "push"])
def test_a_step_that_fails_is_named(build: Build, step: str) -> None:
    done = build.run(DOCKER_FAILS_AT=step)
    assert done.returncode == 1
    assert f"image build: docker {step} failed with exit code 7" in done.stderr
    assert done.stdout == ""
    assert build.docker_calls()[-1]["arguments"][0] == step


def test_without_docker_it_says_so(build: Build) -> None:
    done = build.run(PATH="/nowhere")
    assert done.returncode == 1
    assert "image build: docker is not on PATH" in done.stderr


def test_a_manifest_that_sagemaker_cannot_pull_is_refused(build: Build) -> None:
    build.registry.media_type = "application/vnd.oci.image.index.v1+json"
    done = build.run()
    assert done.returncode == 1
    assert "image build: the image's manifest is application/vnd.oci.image.index.v1+json" in done.stderr


def test_all_wrong_variables_are_named_at_once(build: Build) -> None:
    done = build.run(IMAGE_BASE="llama-cpp:latest", IMAGE_PLATFORM="windows", IMAGE_TAG="")
    assert done.returncode == 1
    assert "IMAGE_BASE is 'llama-cpp:latest': must be <repository>@sha256:" in done.stderr
    assert "IMAGE_PLATFORM is 'windows': must be linux/amd64 or linux/arm64" in done.stderr
    assert "IMAGE_TAG is ''" in done.stderr
    assert build.docker_calls() == []


def test_everything_the_image_needs_is_pinned(repository_root: Path) -> None:
    lines = (repository_root / "adapter" / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert len(pins) > 10
    assert [pin for pin in pins if pin.count("==") != 1] == []


def test_the_pins_are_everything_that_they_need_in_turn(repository_root: Path) -> None:
    # given that the image installs them with --no-deps
    lines = (repository_root / "adapter" / "requirements.txt").read_text().splitlines()
    pinned = {canonicalize_name(Requirement(line).name) for line in lines if line and not line.startswith("#")}
    # then nothing that the pinned packages or the binding require is missing
    for package in [*sorted(pinned), "llama-cpp-python"]:
        needed = [Requirement(text) for text in requires(package) or []]
        names = {canonicalize_name(need.name) for need in needed if need.marker is None or need.marker.evaluate()}
        assert names <= pinned, package
