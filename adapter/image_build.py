"""Builds the decision container with docker, pushes it to ECR and prints what was pushed.

Run by buildspec.yml. What to build is in the environment, so that a laptop and CodeBuild do the same:
IMAGE_REPOSITORY_URI, IMAGE_TAG (hash of the inputs), IMAGE_BASE (repository@sha256:…), IMAGE_PLATFORM,
LLAMA_CPP_PYTHON_VERSION.
"""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

CONTEXT = Path(__file__).parent

DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
"""The one kind of manifest that SageMaker pulls."""

PRIVATE_REGISTRY = re.compile(r"[0-9]{12}\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.[a-z.]+")

PATTERNS = {
    "IMAGE_REPOSITORY_URI": (r"[^/\s]+/\S+", "<registry>/<name>"),
    "IMAGE_TAG": (r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", "a Docker tag of at most 128 characters"),
    "IMAGE_BASE": (r"\S+@sha256:[0-9a-f]{64}", "<repository>@sha256:<64 hex digits>; a tag can be moved"),
    "IMAGE_PLATFORM": (r"linux/(amd64|arm64)", "linux/amd64 or linux/arm64"),
    "LLAMA_CPP_PYTHON_VERSION": (r"\d+\.\d+\.\d+", "a version such as 0.3.35"),
}
"""Each variable to the form it has to have, and how a message describes that form."""


class ImageBuildError(Exception):
    """The image was not built; the message says at which step and why."""


@dataclass(frozen=True)
class ImageBuild:
    """What to build and where to put it."""

    repository_uri: str
    tag: str
    base: str
    platform: str
    binding_version: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ImageBuild":
        """The build that ``environment`` describes.

        Raises:
            ImageBuildError: one error that lists every variable that is wrong.
        """
        values = {name: environment.get(name, "").strip() for name in PATTERNS}
        problems = [
            f"{name} is {values[name]!r}: must be {form}"
            for name, (pattern, form) in PATTERNS.items()
            if not re.fullmatch(pattern, values[name])
        ]
        if problems:
            raise ImageBuildError("; ".join(problems))
        return cls(*values.values())

    @property
    def registries(self) -> list[str]:
        """The hosts that it is pushed to and its base is pulled from."""
        return sorted({uri.partition("/")[0] for uri in (self.repository_uri, self.base)})

    @property
    def name(self) -> str:
        """The repository's name in its registry."""
        return self.repository_uri.partition("/")[2]

    def docker_build(self) -> list[str]:
        """The command that builds the image. Without provenance, which would need a manifest list."""
        return [
            *("docker", "build", "--platform", self.platform, "--provenance=false"),
            *("--build-arg", f"BASE_IMAGE={self.base}"),
            *("--build-arg", f"LLAMA_CPP_PYTHON_VERSION={self.binding_version}"),
            *("--tag", f"{self.repository_uri}:{self.tag}", str(CONTEXT)),
        ]


def build(image: ImageBuild, ecr: Any) -> dict[str, str]:
    """Build and push ``image``, unless its tag is already there; what is in the registry then.

    A tag names the hash of what went into the image and cannot be moved, so an image that exists is the one wanted: a
    build that was broken off after its push is finished by running it again.

    Raises:
        ImageBuildError: docker or ECR failed, or the image has a manifest that SageMaker cannot pull.
    """
    found = find(image, ecr)
    if found is None:
        for registry in image.registries:
            log_in(registry)
        run(image.docker_build())
        run(["docker", "push", f"{image.repository_uri}:{image.tag}"])
        found = find(image, ecr)
    if found is None:
        raise ImageBuildError(f"{image.repository_uri}:{image.tag} was pushed, but ECR does not have it")
    media_type = found.get("imageManifestMediaType", DOCKER_MANIFEST)
    if media_type != DOCKER_MANIFEST:
        raise ImageBuildError(f"the image's manifest is {media_type}; SageMaker pulls only {DOCKER_MANIFEST}")
    digest = found["imageDigest"]
    return {
        "image_uri": f"{image.repository_uri}@{digest}",
        "digest": digest,
        "tag": image.tag,
        "base": image.base,
    }


def find(image: ImageBuild, ecr: Any) -> dict[str, Any] | None:
    """ECR's description of the image; None when there is none with the tag."""
    try:
        answer = ecr.describe_images(repositoryName=image.name, imageIds=[{"imageTag": image.tag}])
    except ecr.exceptions.ImageNotFoundException:
        return None
    details: dict[str, Any] = answer["imageDetails"][0]
    return details


def log_in(registry: str) -> None:
    """Let docker use a private registry of ECR; to pull from any other one nobody has to log in."""
    match = PRIVATE_REGISTRY.fullmatch(registry)
    if match is None:
        return
    ecr = boto3.client("ecr", region_name=match["region"])
    token = ecr.get_authorization_token()["authorizationData"][0]["authorizationToken"]
    user, _, password = base64.b64decode(token).decode().partition(":")
    run(["docker", "login", "--username", user, "--password-stdin", registry], password)


def run(command: Sequence[str], standard_input: str = "") -> None:
    """Run ``command``, its output going to ours.

    Raises:
        ImageBuildError: it is not there or fails.
    """
    print("+", *command, file=sys.stderr, flush=True)
    try:
        # Its output is a log; our standard output is kept for the one line of JSON.
        subprocess.run(command, input=standard_input, text=True, check=True, stdout=sys.stderr)
    except FileNotFoundError as error:
        raise ImageBuildError(f"{command[0]} is not on PATH") from error
    except subprocess.CalledProcessError as error:
        raise ImageBuildError(f"{' '.join(command[:2])} failed with exit code {error.returncode}; see above") from error


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
