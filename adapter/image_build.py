"""Builds the decision container with docker, pushes it to ECR and prints what was pushed.

Run by buildspec.yml. What to build is in the environment, so that a laptop and CodeBuild do the same:
IMAGE_REPOSITORY_URI, IMAGE_TAG (hash of the inputs), IMAGE_BASE (repository@sha256:…), IMAGE_PLATFORM, and
IMAGE_BASE_DIGEST, the base's digest as published, by which bases.toml says what release of the binding fits: a copy of
one platform has another digest. A package index of one's own is named as pip is told it: PIP_INDEX_URL,
PIP_EXTRA_INDEX_URL, PIP_TRUSTED_HOST, PIP_CERT.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

CONTEXT = Path(__file__).parent
BASES = CONTEXT / "bases.toml"
PACKAGES_FILES = ("Dockerfile", "requirements.lock", "build-requirements.lock")
"""What decides which packages are installed, beside the base and the binding."""

DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
"""The one kind of manifest that SageMaker pulls."""

PUBLIC_REGISTRY, PUBLIC_REGION = "public.ecr.aws", "us-east-1"
PRIVATE_REGISTRY = r"\d{12}\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?"
"""A private registry of ECR's, by region."""

PIP_SETTINGS = {
    "index-url": "PIP_INDEX_URL",
    "extra-index-url": "PIP_EXTRA_INDEX_URL",
    "trusted-host": "PIP_TRUSTED_HOST",
}
"""What a build passes on to its own pip, by pip's key and the variable that it is read from."""

PATTERNS = {
    "IMAGE_REPOSITORY_URI": (r"[^/\s]+/\S+", "<registry>/<name>"),
    "IMAGE_TAG": (r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", "a Docker tag of at most 128 characters"),
    "IMAGE_BASE": (r"\S+@sha256:[0-9a-f]{64}", "<repository>@sha256:<64 hex digits>; a tag can be moved"),
    "IMAGE_BASE_DIGEST": (r"sha256:[0-9a-f]{64}", "sha256:<64 hex digits>, the base's as published"),
    "IMAGE_PLATFORM": (r"linux/(amd64|arm64)", "linux/amd64 or linux/arm64"),
}
"""Each variable to the form it has to have, and how a message describes that form."""


class ImageBuildError(Exception):
    """The image was not built; the message says at which step and why."""


@dataclass(frozen=True)
class Binding:
    """The llama-cpp-python that fits a base, and what the base computes with."""

    version: str
    sha256: str
    accelerator: str

    @classmethod
    def of(cls, digest: str, table: Path = BASES) -> "Binding":
        """What ``table`` says about the base with a digest.

        Raises:
            ImageBuildError: nothing, or a release that it does not describe.
        """
        known = tomllib.loads(table.read_text(encoding="utf-8"))
        entry = known["bases"].get(digest)
        if entry is None:
            raise ImageBuildError(
                f"{table.name} does not know the base {digest}: add it with the llama_cpp_python that was made for "
                "its llama.cpp; the build proves that it was"
            )
        version = entry["llama_cpp_python"]
        release = known["bindings"].get(version)
        if release is None:
            raise ImageBuildError(f"{table.name} gives {digest} llama-cpp-python {version}, which its [bindings] lack")
        return cls(version, release["sdist_sha256"], entry["accelerator"])


@dataclass(frozen=True)
class ImageBuild:
    """What to build and where to put it."""

    repository_uri: str
    tag: str
    base: str
    base_digest: str
    platform: str
    binding: Binding

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ImageBuild":
        """The build that ``environment`` describes.

        Raises:
            ImageBuildError: one error that lists every variable that is wrong, or the base is not known.
        """
        values = {name: environment.get(name, "").strip() for name in PATTERNS}
        problems = [
            f"{name} is {values[name]!r}: must be {form}"
            for name, (pattern, form) in PATTERNS.items()
            if not re.fullmatch(pattern, values[name])
        ]
        if problems:
            raise ImageBuildError("; ".join(problems))
        return cls(*values.values(), Binding.of(values["IMAGE_BASE_DIGEST"]))

    @property
    def name(self) -> str:
        """The repository's name in its registry."""
        return self.repository_uri.partition("/")[2]

    @property
    def packages_tag(self) -> str:
        """The tag of what is installed from PyPI: the hash of all that it depends on, so that it is built once."""
        texts = [(CONTEXT / name).read_text(encoding="utf-8") for name in PACKAGES_FILES]
        content = json.dumps([self.base, self.platform, self.binding.version, self.binding.sha256, *texts])
        return f"packages-{hashlib.sha256(content.encode()).hexdigest()[:32]}"

    def docker_build(self, tag: str, *options: str) -> list[str]:
        """The command that builds the image as ``tag``. Without provenance, which would need a manifest list."""
        arguments = {
            "BASE_IMAGE": self.base,
            "LLAMA_CPP_PYTHON_VERSION": self.binding.version,
            "LLAMA_CPP_PYTHON_SHA256": self.binding.sha256,
            "ACCELERATOR": self.binding.accelerator,
        }
        return [
            *("docker", "build", "--platform", self.platform, "--provenance=false", "--progress=plain", *options),
            *(word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")),
            *("--cache-from", f"type=registry,ref={self.repository_uri}:{self.packages_tag}"),
            *("--tag", f"{self.repository_uri}:{tag}", str(CONTEXT)),
        ]


def build(image: ImageBuild, ecr: Any) -> dict[str, Any]:
    """Build and push ``image``, unless its tag is already there; what is in the registry then.

    A tag names the hash of what went into the image and cannot be moved, so an image that exists is the one wanted: a
    build that was broken off after its push is finished by running it again.

    Raises:
        ImageBuildError: docker or ECR failed, or the image has a manifest that SageMaker cannot pull.
    """
    found = find(image, image.tag, ecr)
    base_layers: int | None = None
    if found is None:
        base_layers = build_and_push(image, ecr)
        found = find(image, image.tag, ecr)
    if found is None:
        raise ImageBuildError(f"{image.repository_uri}:{image.tag} was pushed, but ECR does not have it")
    media_type = found.get("imageManifestMediaType", DOCKER_MANIFEST)
    if media_type != DOCKER_MANIFEST:
        raise ImageBuildError(f"the image's manifest is {media_type}; SageMaker pulls only {DOCKER_MANIFEST}")
    digest = found["imageDigest"]
    layers = layer_sizes(image, digest, ecr)
    for number, size in enumerate(layers):
        whose = "" if base_layers is None else ", the base's" if number < base_layers else ", added"
        print(f"layer {number + 1}: {size / 1e6:.1f} MB{whose}", file=sys.stderr)
    return {
        "image_uri": f"{image.repository_uri}@{digest}",
        "digest": digest,
        "tag": image.tag,
        "base": image.base,
        "llama_cpp_python": image.binding.version,
        "size_bytes": sum(layers),
        "added_bytes": None if base_layers is None else sum(layers[base_layers:]),
        "layer_bytes": layers,
    }


def build_and_push(image: ImageBuild, ecr: Any) -> int:
    """Build and push ``image``; how many of its layers are the base's.

    What comes from PyPI is pushed under a tag of its own, which later builds take their layers from.

    Raises:
        ImageBuildError: a step failed.
    """
    for registry in sorted({name.partition("/")[0] for name in (image.repository_uri, image.base)}):
        log_in(registry, image, ecr)
    run(["docker", "pull", "--platform", image.platform, image.base])
    with package_index(os.environ) as secrets:
        packages = image.packages_tag
        if find(image, packages, ecr) is None:
            run(image.docker_build(packages, *secrets, "--target=packages", "--cache-to=type=inline"))
            run(["docker", "push", f"{image.repository_uri}:{packages}"])
        run(image.docker_build(image.tag, *secrets))
    shown = run(["docker", "inspect", image.base], capture=True)
    run(["docker", "push", f"{image.repository_uri}:{image.tag}"])
    return len(json.loads(shown)[0]["RootFS"]["Layers"])


def log_in(registry: str, image: ImageBuild, ecr: Any) -> None:
    """Log docker in to a registry that it pulls from or pushes to; public ones of others need no login.

    Raises:
        ImageBuildError: docker failed.
    """
    if registry == PUBLIC_REGISTRY:
        try:
            token = boto3.client("ecr-public", region_name=PUBLIC_REGION).get_authorization_token()
        except (ClientError, BotoCoreError) as error:
            print(f"pulling from {registry} without a login, at the rate that all share: {error}", file=sys.stderr)
            return
        encoded = token["authorizationData"]["authorizationToken"]
    elif registry == image.repository_uri.partition("/")[0]:
        encoded = ecr.get_authorization_token()["authorizationData"][0]["authorizationToken"]
    elif found := re.fullmatch(PRIVATE_REGISTRY, registry):
        there = boto3.client("ecr", region_name=found[1])
        encoded = there.get_authorization_token()["authorizationData"][0]["authorizationToken"]
    else:
        return
    user, _, password = base64.b64decode(encoded).decode().partition(":")
    run(["docker", "login", "--username", user, "--password-stdin", registry], password)


@contextmanager
def package_index(environment: Mapping[str, str]) -> Iterator[list[str]]:
    """Options that let the build's pip use the package index and certificate of this machine, when it names any.

    They go in as secrets, which no layer and no history holds.
    """
    settings = {
        key: environment[variable] for key, variable in PIP_SETTINGS.items() if environment.get(variable, "").strip()
    }
    certificate = environment.get("PIP_CERT", "").strip()
    if certificate:
        settings["cert"] = "/run/secrets/ca.pem"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pip.conf"
        file.write_text("".join(["[global]\n", *(f"{key} = {value}\n" for key, value in settings.items())]))
        options = [f"--secret=id=pip.conf,src={file}"] if settings else []
        yield [*options, *([f"--secret=id=ca.pem,src={certificate}"] if certificate else [])]


def layer_sizes(image: ImageBuild, digest: str, ecr: Any) -> list[int]:
    """The compressed size of each layer, in bytes, the base's first."""
    (found,) = ecr.batch_get_image(repositoryName=image.name, imageIds=[{"imageDigest": digest}])["images"]
    return [layer["size"] for layer in json.loads(found["imageManifest"])["layers"]]


def find(image: ImageBuild, tag: str, ecr: Any) -> dict[str, Any] | None:
    """ECR's description of the image with ``tag``; None when there is none."""
    try:
        answer = ecr.describe_images(repositoryName=image.name, imageIds=[{"imageTag": tag}])
    except ecr.exceptions.ImageNotFoundException:
        return None
    details: dict[str, Any] = answer["imageDetails"][0]
    return details


def run(command: Sequence[str], standard_input: str = "", *, capture: bool = False) -> str:
    """Run ``command``, its output going to our log; with ``capture`` it is returned.

    Raises:
        ImageBuildError: it is not there or fails.
    """
    print("+", *command, file=sys.stderr, flush=True)
    try:
        # Our standard output is kept for the one line of JSON.
        output = subprocess.PIPE if capture else sys.stderr
        done = subprocess.run(command, input=standard_input, text=True, check=True, stdout=output)
    except FileNotFoundError as error:
        raise ImageBuildError(f"{command[0]} is not on PATH") from error
    except subprocess.CalledProcessError as error:
        raise ImageBuildError(f"{' '.join(command[:2])} failed with exit code {error.returncode}; see above") from error
    return done.stdout or ""


def main() -> int:
    """Build what the environment says; the exit code."""
    try:
        print(json.dumps(build(ImageBuild.from_environment(os.environ), boto3.client("ecr"))), flush=True)
    except (ImageBuildError, ClientError, BotoCoreError) as error:
        print(f"image build: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
