"""A copy of an image from one registry to another: the same bytes, so the same digest, checked afterwards.

`docker pull`, `tag` and `push` would write another manifest with another digest, and so does `imagetools create` unless
it is told to prefer no index. Layers go from registry to registry; nothing is unpacked.
"""

import base64
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import boto3

_PRIVATE_REGISTRY = re.compile(r"[0-9]{12}\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.[a-z.]+")

PATTERNS = {
    "IMAGE_SOURCE": (
        r"[^/\s]+/\S+@sha256:[0-9a-f]{64}",
        "<registry>/<name>@sha256:<64 hex digits>; a tag can be moved",
    ),
    "IMAGE_REPOSITORY_URI": (r"[^/\s]+/\S+", "<registry>/<name>"),
    "IMAGE_TAG": (r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", "a Docker tag of at most 128 characters"),
    "IMAGE_PLATFORM": (r"linux/(amd64|arm64)", "linux/amd64 or linux/arm64"),
}
"""Each variable to the form it has to have, and how a message describes that form."""


class ImageCopyError(Exception):
    """There is no copy; the message says at which step and why."""


@dataclass(frozen=True)
class Copy:
    """What to copy and where to."""

    source: str
    repository_uri: str
    tag: str
    platform: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Copy":
        """The copy that ``environment`` describes.

        Raises:
            ImageCopyError: one error that lists every variable that is wrong.
        """
        values = {name: environment.get(name, "").strip() for name in PATTERNS}
        problems = [
            f"{name} is {values[name]!r}: must be {form}"
            for name, (pattern, form) in PATTERNS.items()
            if not re.fullmatch(pattern, values[name])
        ]
        if problems:
            raise ImageCopyError("; ".join(problems))
        return cls(*values.values())

    @property
    def source_name(self) -> str:
        """The source without its digest."""
        return self.source.partition("@")[0]

    @property
    def pinned(self) -> str:
        """The source's digest."""
        return self.source.partition("@")[2]

    @property
    def target(self) -> str:
        """The copy's name."""
        return f"{self.repository_uri}:{self.tag}"


def copy(image: Copy) -> dict[str, str]:
    """Copy ``image`` unless it is there; what is in the repository then.

    Raises:
        ImageCopyError: docker failed, or the repository has another image than the pinned one under the tag.
    """
    ecr = boto3.client("ecr")
    found = find(image, ecr)
    wanted = image.pinned
    if found != wanted:
        for registry in sorted({uri.partition("/")[0] for uri in (image.source, image.repository_uri)}):
            log_in(registry)
        wanted = platform_digest(image)
        if found is None:
            create = ("docker", "buildx", "imagetools", "create", "--prefer-index=false")
            run([*create, "--tag", image.target, f"{image.source_name}@{wanted}"])
            found = find(image, ecr)
    if found != wanted:
        raise ImageCopyError(f"{image.target} is {found or 'not there'}, not {wanted}; delete it, and run this again")
    return {"image_uri": f"{image.repository_uri}@{wanted}", "digest": wanted, "source": image.source}


def platform_digest(image: Copy) -> str:
    """The digest to copy: the pinned one, or where that is an index, the one that it has for the platform.

    Raises:
        ImageCopyError: the index has none.
    """
    manifest = json.loads(run(["docker", "buildx", "imagetools", "inspect", "--raw", image.source]))
    if "manifests" not in manifest:
        return image.pinned
    # provenance is in an index too, for the platform unknown/unknown
    listed = [(f"{one['platform']['os']}/{one['platform']['architecture']}", one) for one in manifest["manifests"]]
    fitting = [str(one["digest"]) for platform, one in listed if platform == image.platform]
    if len(fitting) != 1:
        has = ", ".join(sorted(platform for platform, _ in listed)) or "nothing"
        raise ImageCopyError(
            f"{image.source} is an index of {has}: {len(fitting)} for {image.platform}; pin the digest of one manifest"
        )
    print(f"{image.pinned} is an index; {fitting[0]} is its image for {image.platform}", file=sys.stderr)
    return fitting[0]


def find(image: Copy, ecr: Any) -> str | None:
    """The digest that the repository has under the tag; None when it has none."""
    name = image.repository_uri.partition("/")[2]
    try:
        answer = ecr.describe_images(repositoryName=name, imageIds=[{"imageTag": image.tag}])
    except ecr.exceptions.ImageNotFoundException:
        return None
    return str(answer["imageDetails"][0]["imageDigest"])


def log_in(registry: str) -> None:
    """Let docker pull from and push to a private registry of ECR; to any other one nobody has to log in."""
    match = _PRIVATE_REGISTRY.fullmatch(registry)
    if match is None:
        return
    ecr = boto3.client("ecr", region_name=match["region"])
    token = ecr.get_authorization_token()["authorizationData"][0]["authorizationToken"]
    user, _, password = base64.b64decode(token).decode().partition(":")
    run(["docker", "login", "--username", user, "--password-stdin", registry], password)


def run(command: Sequence[str], standard_input: str = "") -> str:
    """What ``command`` writes to its standard output.

    Raises:
        ImageCopyError: it is not there or fails.
    """
    print("+", *command, file=sys.stderr, flush=True)
    try:
        done = subprocess.run(command, input=standard_input, text=True, check=True, stdout=subprocess.PIPE)
    except FileNotFoundError as error:
        raise ImageCopyError(f"{command[0]} is not on PATH") from error
    except subprocess.CalledProcessError as error:
        step = " ".join(takewhile(lambda word: not word.startswith("-"), command))
        raise ImageCopyError(f"{step} failed with exit code {error.returncode}; see above") from error
    return done.stdout
