"""The copy's program, with a docker in front of a registry of manifests and an ECR on loopback."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

PINNED, AMD64, ARM64, ATTESTED = (f"sha256:{letter * 64}" for letter in "abcd")
NAME = "public.ecr.aws/deep-learning-containers/llama-cpp"
REGISTRY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
REPOSITORY = f"{REGISTRY}/team/decision"
TAG = f"copy-amd64-{'a' * 64}"
ENVIRONMENT = {
    "IMAGE_SOURCE": f"{NAME}@{PINNED}",
    "IMAGE_REPOSITORY_URI": REPOSITORY,
    "IMAGE_TAG": TAG,
    "IMAGE_PLATFORM": "linux/amd64",
}
MANIFEST = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}
INDEX = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.index.v1+json",
    "manifests": [
        {"digest": AMD64, "platform": {"os": "linux", "architecture": "amd64"}},
        {"digest": ARM64, "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}},
        {"digest": ATTESTED, "platform": {"os": "unknown", "architecture": "unknown"}},
    ],
}

# Pushes what it is told to, or as docker does without --prefer-index=false: an index, whose digest is another.
DOCKER = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
arguments = sys.argv[1:]
with (folder / "calls.jsonl").open("a") as calls:
    typed = sys.stdin.read() if "--password-stdin" in arguments else ""
    calls.write(json.dumps({{"arguments": arguments, "typed": typed}}) + "\\n")
if os.environ.get("DOCKER_FAILS_AT") in arguments:
    sys.exit(7)
if "inspect" in arguments:
    print((folder / "manifest.json").read_text())
if "create" in arguments:
    digest = arguments[-1].partition("@")[2] if "--prefer-index=false" in arguments else "sha256:" + "e" * 64
    (folder / "pushed").write_text(digest)
"""


class CopyRun:
    """Runs the program with its own docker on PATH. `pushed` is the file with the digest that the tag has."""

    def __init__(self, folder: Path, repository_root: Path, endpoint: str) -> None:
        self.pushed = folder / "pushed"
        self._folder, self._root, self._endpoint = folder, repository_root, endpoint
        self.publish(MANIFEST)
        docker = folder / "docker"
        docker.write_text(DOCKER.format(python=sys.executable, folder=str(folder)))
        docker.chmod(0o755)

    def publish(self, manifest: dict[str, Any]) -> None:
        (self._folder / "manifest.json").write_text(json.dumps(manifest))

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
            [sys.executable, "-m", "image_copy"],
            check=False,
            cwd=self._root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def docker_calls(self) -> list[dict[str, Any]]:
        calls = self._folder / "calls.jsonl"
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []


@pytest.fixture
def copy(tmp_path: Path, repository_root: Path) -> Iterator[CopyRun]:
    pushed = tmp_path / "pushed"

    class Handler(BaseHTTPRequestHandler):
        """ECR: the tag is there once docker has pushed it."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = 200, dict[str, Any]()
            if self.headers["X-Amz-Target"].endswith(".GetAuthorizationToken"):
                token = base64.b64encode(b"AWS:a secret").decode()
                answer = {"authorizationData": [{"authorizationToken": token}]}
            elif pushed.exists():
                answer = {"imageDetails": [{"imageDigest": pushed.read_text()}]}
            else:
                status, answer = 400, {"__type": "ImageNotFoundException", "message": "no such tag"}
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
        yield CopyRun(tmp_path, repository_root, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


def test_an_image_is_copied_with_its_digest(copy: CopyRun) -> None:
    done = copy.run()

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "image_uri": f"{REPOSITORY}@{PINNED}",
        "digest": PINNED,
        "source": f"{NAME}@{PINNED}",
    }
    login, inspected, created = copy.docker_calls()
    assert login == {
        "arguments": ["login", "--username", "AWS", "--password-stdin", REGISTRY],
        "typed": "a secret",
    }
    assert inspected["arguments"] == ["buildx", "imagetools", "inspect", "--raw", f"{NAME}@{PINNED}"]
    assert created["arguments"] == [
        *("buildx", "imagetools", "create", "--prefer-index=false"),
        *("--tag", f"{REPOSITORY}:{TAG}", f"{NAME}@{PINNED}"),
    ]


def test_an_image_that_is_there_is_not_copied_again(copy: CopyRun) -> None:
    copy.pushed.write_text(PINNED)
    assert json.loads(copy.run().stdout)["digest"] == PINNED
    assert copy.docker_calls() == []


@pytest.mark.parametrize(("platform", "digest"), [("linux/amd64", AMD64), ("linux/arm64", ARM64)])
def test_of_an_index_the_image_of_the_platform_is_copied(copy: CopyRun, platform: str, digest: str) -> None:
    copy.publish(INDEX)
    for _ in range(2):  # found the second time
        done = copy.run(IMAGE_PLATFORM=platform)
        assert json.loads(done.stdout)["digest"] == digest
    assert copy.pushed.read_text() == digest
    assert len([call for call in copy.docker_calls() if "create" in call["arguments"]]) == 1


def test_an_index_without_the_platform_is_refused_with_what_it_has(copy: CopyRun) -> None:
    copy.publish({**INDEX, "manifests": INDEX["manifests"][1:]})
    done = copy.run()
    assert done.returncode == 1
    assert (
        f"image copy: {NAME}@{PINNED} is an index of linux/arm64, unknown/unknown: 0 for linux/amd64; "
        "pin the digest of one manifest"
    ) in done.stderr
    assert not copy.pushed.exists()


def test_another_image_under_the_tag_is_never_taken_for_the_pinned_one(copy: CopyRun) -> None:
    copy.pushed.write_text(AMD64)
    done = copy.run()
    assert done.returncode == 1
    assert f"image copy: {REPOSITORY}:{TAG} is {AMD64}, not {PINNED}; delete it, and run this again" in done.stderr
    assert copy.pushed.read_text() == AMD64


def test_both_registries_are_logged_in_to_where_the_source_is_a_private_one(copy: CopyRun) -> None:
    other = "210987654321.dkr.ecr.us-east-1.amazonaws.com"
    assert copy.run(IMAGE_SOURCE=f"{other}/x@{PINNED}").returncode == 0
    logins = [call["arguments"][-1] for call in copy.docker_calls() if call["arguments"][0] == "login"]
    assert logins == [REGISTRY, other]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("login", "docker login"),
        ("inspect", "docker buildx imagetools inspect"),
        ("create", "docker buildx imagetools create"),
    ],
)
def test_a_step_that_fails_is_named(copy: CopyRun, step: str, told: str) -> None:
    done = copy.run(DOCKER_FAILS_AT=step)
    assert done.returncode == 1
    assert f"{told} failed with exit code 7; see above" in done.stderr
    assert done.stdout == ""


def test_without_docker_it_says_so(copy: CopyRun) -> None:
    assert "image copy: docker is not on PATH" in copy.run(PATH="/nowhere").stderr


def test_all_wrong_variables_are_named_at_once(copy: CopyRun) -> None:
    done = copy.run(IMAGE_SOURCE=f"{NAME}:latest", IMAGE_PLATFORM="windows", IMAGE_TAG="")
    assert done.returncode == 1
    assert f"IMAGE_SOURCE is '{NAME}:latest': must be <registry>/<name>@sha256:" in done.stderr
    assert "IMAGE_PLATFORM is 'windows': must be linux/amd64 or linux/arm64" in done.stderr
    assert "IMAGE_TAG is ''" in done.stderr
    assert copy.docker_calls() == []
