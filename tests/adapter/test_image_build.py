"""The image build's program, with a docker that only writes down what it is asked and an ECR on loopback."""

import base64
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import llama_cpp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BASE = (
    "public.ecr.aws/deep-learning-containers/llama-cpp"
    "@sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"
)
SDIST_SHA256 = "1139dbb54509074b70893fab8554e3b079aa9f4d312058ce4018ef0019e3de12"
DIGEST = f"sha256:{'b' * 64}"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
PUBLIC_REGISTRY_API = "SpencerFrontendService"
REPOSITORY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/decision"
ENVIRONMENT = {
    "IMAGE_REPOSITORY_URI": REPOSITORY,
    "IMAGE_TAG": "0123abcd",
    "IMAGE_BASE": BASE,
    "IMAGE_BASE_DIGEST": BASE.partition("@")[2],
    "IMAGE_PLATFORM": "linux/amd64",
}

DOCKER = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
with (folder / "calls.jsonl").open("a") as calls:
    typed = sys.stdin.read() if "--password-stdin" in sys.argv else ""
    calls.write(json.dumps({{"arguments": sys.argv[1:], "typed": typed}}) + "\\n")
secrets = [word.partition("src=")[2] for word in sys.argv if word.startswith("--secret=")]
for secret in secrets:
    with (folder / "secrets").open("a") as seen:
        seen.write(pathlib.Path(secret).read_text())
if sys.argv[1] == "inspect":
    print(json.dumps([{{"RootFS": {{"Layers": ["sha256:one", "sha256:two"]}}}}]))
else:
    print("docker says something")
if sys.argv[1] == "push":
    with (folder / "pushed").open("a") as pushed:
        pushed.write(sys.argv[2].rpartition(":")[2] + "\\n")
sys.exit(7 if sys.argv[1] == os.environ.get("DOCKER_FAILS_AT") else 0)
"""


class Registry:
    """What ECR answers: the image is there once docker has pushed it."""

    def __init__(self, pushed: Path, media_type: str = DOCKER_MANIFEST) -> None:
        self.pushed = pushed
        self.media_type = media_type
        self.public_is_closed = False
        self.asked: list[dict[str, Any]] = []

    def answer(self, target: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        service, _, action = target.partition(".")
        if action == "GetAuthorizationToken":
            token = {"authorizationToken": base64.b64encode(b"AWS:a secret").decode()}
            # the public registry's answer has one, a private one's a list
            if service == PUBLIC_REGISTRY_API and self.public_is_closed:
                return 400, {"__type": "AccessDeniedException", "message": "not for you"}
            return 200, {"authorizationData": token if service == PUBLIC_REGISTRY_API else [token]}
        self.asked.append(request)
        if action == "BatchGetImage":
            manifest = json.dumps({"layers": [{"size": size} for size in (900, 80, 7, 5)]})
            return 200, {"images": [{"imageManifest": manifest}], "failures": []}
        tags = self.pushed.read_text().split() if self.pushed.exists() else []
        if request["imageIds"][0]["imageTag"] not in tags:
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

    def run(self, *, program: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
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
            [sys.executable, str(program or self._program)],
            check=False,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def docker_calls(self) -> list[dict[str, Any]]:
        calls = self._folder / "calls.jsonl"
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    def packages_tag(self) -> str:
        """The tag that the packages were pushed under."""
        pushes = [call["arguments"][1] for call in self.docker_calls() if call["arguments"][0] == "push"]
        return next(name.rpartition(":")[2] for name in pushes if ":packages-" in name)

    def secrets(self) -> str:
        """What docker could read of the secrets that it was given."""
        seen = self._folder / "secrets"
        return seen.read_text() if seen.exists() else ""


@pytest.fixture
def build(tmp_path: Path, repository_root: Path) -> Iterator[Build]:
    registry = Registry(tmp_path / "pushed")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = registry.answer(self.headers["X-Amz-Target"], request)
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
        "llama_cpp_python": "0.3.35",
        "size_bytes": 992,
        "added_bytes": 12,
        "layer_bytes": [900, 80, 7, 5],
    }
    assert "layer 2: 0.0 MB, the base's\nlayer 3: 0.0 MB, added" in done.stderr
    # and docker was logged in to where it pulls from and where it pushes to, the password not on its command line
    first, second, *calls = build.docker_calls()
    own = REPOSITORY.partition("/")[0]
    for call, registry in ((first, own), (second, "public.ecr.aws")):
        assert call["arguments"] == ["login", "--username", "AWS", "--password-stdin", registry]
        assert call["typed"] == "a secret"
    # and asked for this
    assert calls[0]["arguments"] == ["pull", "--platform", "linux/amd64", BASE]
    packages = build.packages_tag()
    build_args = (
        *("--build-arg", f"BASE_IMAGE={BASE}", "--build-arg", "LLAMA_CPP_PYTHON_VERSION=0.3.35"),
        *("--build-arg", f"LLAMA_CPP_PYTHON_SHA256={SDIST_SHA256}", "--build-arg", "ACCELERATOR=cpu"),
        *("--cache-from", f"type=registry,ref={REPOSITORY}:{packages}"),
    )
    common = ("build", "--platform", "linux/amd64", "--provenance=false", "--progress=plain")
    context = str(repository_root / "adapter")
    assert [call["arguments"] for call in calls[1:]] == [
        [
            *common,
            "--target=packages",
            "--cache-to=type=inline",
            *build_args,
            "--tag",
            f"{REPOSITORY}:{packages}",
            context,
        ],
        ["push", f"{REPOSITORY}:{packages}"],
        [*common, *build_args, "--tag", f"{REPOSITORY}:0123abcd", context],
        ["inspect", BASE],
        ["push", f"{REPOSITORY}:0123abcd"],
    ]
    assert build.registry.asked[0] == {"repositoryName": "team/decision", "imageIds": [{"imageTag": "0123abcd"}]}


def test_packages_that_are_there_are_not_built_again(build: Build) -> None:
    build.run()
    before = len(build.docker_calls())
    done = build.run(IMAGE_TAG="4567cdef")
    assert done.returncode == 0, done.stderr
    calls = [call["arguments"] for call in build.docker_calls()[before:]]
    assert [call[0] for call in calls] == ["login", "login", "pull", "build", "inspect", "push"]
    assert f"type=registry,ref={REPOSITORY}:{build.packages_tag()}" in calls[3]


def test_without_leave_to_log_in_to_the_public_registry_it_is_pulled_from_as_by_anybody(build: Build) -> None:
    build.registry.public_is_closed = True
    done = build.run()
    assert done.returncode == 0, done.stderr
    assert "pulling from public.ecr.aws without a login" in done.stderr
    logins = [call["arguments"][-1] for call in build.docker_calls() if call["arguments"][0] == "login"]
    assert logins == [REPOSITORY.partition("/")[0]]


def test_a_base_in_a_private_registry_of_another_region_is_logged_in_to(build: Build) -> None:
    base = BASE.replace("public.ecr.aws/deep", "222233334444.dkr.ecr.us-west-2.amazonaws.com/deep")
    done = build.run(IMAGE_BASE=base)
    assert done.returncode == 0, done.stderr
    logins = [call["arguments"][-1] for call in build.docker_calls() if call["arguments"][0] == "login"]
    assert logins == [REPOSITORY.partition("/")[0], base.partition("/")[0]]


def test_a_package_index_and_its_certificate_are_secrets_of_the_build(build: Build, tmp_path: Path) -> None:
    certificate = tmp_path / "ca.pem"
    certificate.write_text("a certificate\n")
    index = "https://somebody:password@packages.example/simple"
    done = build.run(PIP_INDEX_URL=index, PIP_CERT=str(certificate))
    assert done.returncode == 0, done.stderr
    assert build.secrets() == f"[global]\nindex-url = {index}\ncert = /run/secrets/ca.pem\na certificate\n" * 2
    assert "password@" not in done.stdout + done.stderr + json.dumps(build.docker_calls())


def test_without_them_there_are_none(build: Build) -> None:
    build.run()
    assert build.secrets() == ""


def test_a_base_that_no_binding_is_known_for_is_refused_with_what_to_do(build: Build) -> None:
    unknown = f"sha256:{'a' * 64}"
    done = build.run(IMAGE_BASE_DIGEST=unknown)
    assert done.returncode == 1
    assert f"image build: bases.toml does not know the base {unknown}: add it with the llama_cpp_python" in done.stderr
    assert build.docker_calls() == []


def test_a_copy_of_one_platform_is_known_by_the_digest_that_was_published(build: Build) -> None:
    copy = f"{REPOSITORY}@sha256:{'c' * 64}"
    done = build.run(IMAGE_BASE=copy)
    assert done.returncode == 0, done.stderr
    assert ["pull", "--platform", "linux/amd64", copy] in [call["arguments"] for call in build.docker_calls()]


def test_a_release_that_the_table_does_not_describe_is_refused(
    build: Build, repository_root: Path, tmp_path: Path
) -> None:
    # given a copy of the program beside a table with a slip
    shutil.copy(repository_root / "adapter" / "image_build.py", tmp_path)
    table = (repository_root / "adapter" / "bases.toml").read_text()
    (tmp_path / "bases.toml").write_text(table.replace('llama_cpp_python = "0.3.35"', 'llama_cpp_python = "0.3.99"'))
    done = build.run(program=tmp_path / "image_build.py")
    assert done.returncode == 1
    assert "llama-cpp-python 0.3.99, which its [bindings] lack" in done.stderr


def test_every_binding_that_a_base_names_is_described(repository_root: Path) -> None:
    table = tomllib.loads((repository_root / "adapter" / "bases.toml").read_text())
    for digest, base in table["bases"].items():
        assert digest.startswith("sha256:")
        assert base["accelerator"] in ("cpu", "arm64", "cuda")
        assert len(table["bindings"][base["llama_cpp_python"]]["sdist_sha256"]) == 64


def test_the_table_has_the_sizes_of_the_installed_binding(repository_root: Path) -> None:
    table = tomllib.loads((repository_root / "adapter" / "bases.toml").read_text())
    sizes = [ctypes.sizeof(llama_cpp.llama_model_params), ctypes.sizeof(llama_cpp.llama_context_params)]
    assert table["bindings"][llama_cpp.__version__]["struct_bytes"] == sizes


def test_an_image_that_is_there_is_not_built_again(build: Build) -> None:
    build.registry.pushed.write_text("0123abcd\n")
    done = build.run()
    result = json.loads(done.stdout)
    assert (result["digest"], result["added_bytes"]) == (DIGEST, None)
    assert build.docker_calls() == []


@pytest.mark.parametrize("step", ["login", "pull", "build", "inspect", "push"])
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


def pins(file: Path) -> dict[str, Requirement]:
    """The requirements in a file by their names, without hashes."""
    lines = [
        line.removesuffix("\\").strip() for line in file.read_text().splitlines() if line[:1] not in ("#", " ", "")
    ]
    return {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, lines)}


@pytest.mark.parametrize("name", ["requirements", "build-requirements"])
def test_the_lock_has_every_pin_and_each_has_hashes(repository_root: Path, name: str) -> None:
    pinned = pins(repository_root / "adapter" / f"{name}.txt")
    locked = pins(repository_root / "adapter" / f"{name}.lock")
    assert {key: locked[key].specifier for key in pinned} == {key: one.specifier for key, one in pinned.items()}
    blocks = re.split(r"\n(?=\w)", (repository_root / "adapter" / f"{name}.lock").read_text().strip())
    assert len(blocks) == len(locked)
    assert [block for block in blocks if "--hash=sha256:" not in block] == []


def test_the_image_is_locked_to_its_pins_and_nothing_else(repository_root: Path) -> None:
    adapter = repository_root / "adapter"
    assert pins(adapter / "requirements.lock").keys() == pins(adapter / "requirements.txt").keys()


def test_the_pins_are_everything_that_they_need_in_turn(repository_root: Path) -> None:
    # given that the image installs them with --no-deps
    pinned = pins(repository_root / "adapter" / "requirements.txt").keys()
    # then nothing that the pinned packages or the binding require is missing
    for package in [*sorted(pinned), "llama-cpp-python"]:
        needed = [Requirement(text) for text in requires(package) or []]
        names = {canonicalize_name(need.name) for need in needed if need.marker is None or need.marker.evaluate()}
        assert names <= pinned, package


def test_the_page_about_the_image_shows_the_result_that_is_printed(build: Build, repository_root: Path) -> None:
    page = (repository_root / "docs" / "image.md").read_text()
    shown = json.loads(page.partition("```json\n")[2].partition("```")[0])
    printed = json.loads(build.run().stdout)
    assert list(shown) == list(printed)
    assert sum(shown["layer_bytes"]) == shown["size_bytes"]


def test_the_commands_of_the_page_about_the_image_exist(repository_root: Path) -> None:
    page = (repository_root / "docs" / "image.md").read_text()
    targets = re.findall(r"^(?:[A-Z_]+=\S+ )?make (\w+)", page, re.MULTILINE)
    makefile = (repository_root / "Makefile").read_text()
    assert set(targets) == {"lock", "image", "demo"}
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
