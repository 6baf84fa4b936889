"""Images that are built for real, by buildah, in the place of the ones that are only recorded.

The published base images are not pulled: a stand-in made here takes their place, see stand_in_base.py.
"""

import hashlib
import json
import os
import shlex
import sys
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_cloud.buildah import Buildah, cache_directory
from local_cloud.errors import ImageError
from local_cloud.image_store import MANIFEST_TYPE, PINNED, ImageStore, bases
from local_cloud.program import Program
from local_cloud.stand_in_base import StandInBase

IMAGES_VARIABLE = "LOCAL_CLOUD_IMAGES"
_PLATFORM = "linux/amd64"
REPOSITORY_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class BuiltImage:
    """An image in buildah's storage, and its manifest as Docker would have it, layers uncompressed."""

    digest: str
    image_id: str
    manifest: str
    buildah: Buildah

    def program(self, common: Mapping[str, str], environment: Mapping[str, str], model: Path) -> Program:
        """How to run it with the deployed environment, the extracted model where SageMaker would put it."""
        command = built_container_command(self.buildah, self.image_id, model, variables=environment)
        return Program((*command, "serve"), REPOSITORY_ROOT, {**common, **environment})


def built_container_command(buildah: Buildah, image: str, model: Path, variables: Iterable[str] = ()) -> list[str]:
    """The command line that runs an image with the named variables, up to what is run in it."""
    options = [f"--variable={name}" for name in variables]
    module = "local_cloud.built_container"
    return [sys.executable, "-m", module, *options, str(buildah.storage), image, str(model), "--"]


class BuiltImages:
    """Images of one clone: tags and digests in its state directory, content in buildah's storage."""

    def __init__(self, root: Path) -> None:
        """Raise ImageError where buildah cannot be used."""
        cache = cache_directory()
        self._root = root
        self._published = ImageStore(root)
        self._buildah = Buildah.open(cache / "buildah")
        self._stand_in = StandInBase(self._buildah, cache)

    def build(
        self,
        context: Path,
        dockerfile: Path,
        build_args: Mapping[str, str],
        platform: str,
        *,
        target: str = "",
        secrets: Sequence[str] = (),
    ) -> BuiltImage:
        """Build a context.

        Raises:
            ImageError: a base is not pinned, the platform is another, or the build failed.
        """
        if platform != _PLATFORM:
            raise ImageError(f"the stand-in base is for {_PLATFORM}; {platform} cannot be built here")
        for base in bases(dockerfile.read_text(), build_args):
            print(f"#1 {base} is replaced by {self._stand_in.image(base)}", file=sys.stderr)
        arguments = {name: self._local(value) for name, value in build_args.items()}
        options = [f"--file={dockerfile}", *([f"--target={target}"] if target else [])]
        options += [f"--secret={secret}" for secret in secrets]
        return self._image(self._buildah.build(context, options, arguments))

    def base(self, name: str) -> BuiltImage:
        """What takes the place of a published base.

        Raises:
            ImageError: nothing does.
        """
        return self._image(self._stand_in.image(name))

    def add_published(self, name: str, digest: str) -> None:
        """Remember the `registry/repository` that an image comes from that nobody fetches here."""
        self._published.add_published(name, digest)

    def find_published(self, digest: str) -> str | None:
        """The `registry/repository` that a copied image comes from; None when it is not one."""
        return self._published.find_published(digest)

    def tag(self, name: str, digest: str) -> None:
        """Let a name stand for a digest, until it is given to another."""
        path = self._tag(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(digest)

    def find(self, digest: str) -> BuiltImage | None:
        """The image with a digest, or None when it was not built here."""
        path = self._root / "built" / digest.replace(":", "-")
        if not path.is_file() or self._buildah.inspect(path.read_text()) is None:
            return None
        return self._image(path.read_text())

    def resolve(self, name: str) -> BuiltImage:
        """The image that a tag stands for.

        Raises:
            ImageError: nothing was built or tagged under this name.
        """
        path = self._tag(name)
        image = self.find(path.read_text()) if path.is_file() else None
        if image is None:
            raise ImageError(f"An image does not exist locally with the tag: {name}")
        return image

    def chat_variables(self, image: str, model: Path) -> dict[str, str]:
        """What lets the chat server find the llama-server of the base, as a command that runs it in a container."""
        command = built_container_command(self._buildah, self._stand_in.image(image), model)
        folder = self._root / "chat" / hashlib.sha256(str(model).encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        script = folder / "llama-server"
        started = f"cd {shlex.quote(str(REPOSITORY_ROOT))} && exec {shlex.join(command)}"
        script.write_text(f'#!/bin/sh\n{started} llama-server "$@"\n')
        script.chmod(0o755)
        return {"PATH": os.pathsep.join((str(folder), os.environ.get("PATH", os.defpath)))}

    def _tag(self, name: str) -> Path:
        return self._root / "built-tags" / urllib.parse.quote(name, safe="")

    def _local(self, value: str) -> str:
        return self._stand_in.image(value) if PINNED.fullmatch(value) else value

    def _image(self, image_id: str) -> BuiltImage:
        found = self._buildah.inspect(image_id)
        if found is None:
            raise ImageError(f"image {image_id} vanished from {self._buildah.storage}")
        manifest = found["Manifest"]
        if json.loads(manifest)["mediaType"] != MANIFEST_TYPE:
            raise ImageError(f"buildah made {image_id} with another manifest than {MANIFEST_TYPE}")
        digest = found["FromImageDigest"]
        record = self._root / "built" / digest.replace(":", "-")
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(found["FromImageID"])
        return BuiltImage(digest, found["FromImageID"], manifest, self._buildah)


def image_store(root: Path) -> ImageStore | BuiltImages:
    """Where this cloud's images are: recorded, or built when LOCAL_CLOUD_IMAGES is "built".

    Raises:
        ImageError: the variable is something else, or images cannot be built here.
    """
    wanted = os.environ.get(IMAGES_VARIABLE) or "recorded"
    if wanted not in ("recorded", "built"):
        raise ImageError(f"{IMAGES_VARIABLE} is {wanted!r}: must be recorded or built")
    return BuiltImages(root) if wanted == "built" else ImageStore(root)
