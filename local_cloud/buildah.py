"""buildah: a builder of images that needs no daemon, with a storage of its own that touches nobody's images."""

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from local_cloud.errors import ImageError

CACHE_VARIABLE = "DECISION_ENDPOINTS_CACHE"
NEEDED = "apt-get install --no-install-recommends buildah debootstrap cmake"


def cache_directory() -> Path:
    """Where images and what they are made of are kept between runs; remove it to start anew."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "decision-endpoints")


@dataclass(frozen=True)
class Buildah:
    """The command, and the folder that it keeps images and containers in."""

    storage: Path

    @classmethod
    def open(cls, storage: Path) -> "Buildah":
        """A buildah that can be used.

        Raises:
            ImageError: it is not installed, or this is not root, who alone may make the mounts that a build needs.
        """
        if shutil.which("buildah") is None:
            raise ImageError(f"buildah is not on PATH: {NEEDED}")
        if os.geteuid() != 0:
            raise ImageError(
                "building images needs root, for their mounts: run it as root or in a container of your own"
            )
        storage.mkdir(parents=True, exist_ok=True)
        return cls(storage)

    @cached_property
    def environment(self) -> dict[str, str]:
        """This process's environment, and how builds are kept apart: by chroot, in layers or, where not, in copies."""
        isolated = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
        for driver in ("overlay", "vfs"):
            environment = {**isolated, "STORAGE_DRIVER": driver}
            tried = subprocess.run(self.command("info"), env=environment, capture_output=True, check=False)
            if tried.returncode == 0:
                return environment
        raise ImageError(f"buildah cannot keep images in {self.storage}: {tried.stderr.decode().strip()}")

    def command(self, *arguments: str | Path) -> list[str]:
        """The command line of buildah with ``arguments``."""
        folders = ("--root", self.storage / "images", "--runroot", self.storage / "run")
        return ["buildah", *map(str, (*folders, *arguments))]

    def run(self, *arguments: str | Path) -> str:
        """What buildah prints.

        Raises:
            ImageError: it failed; with what it said.
        """
        done = subprocess.run(
            self.command(*arguments), env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ImageError(f"buildah {arguments[0]} failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def build(self, context: Path, options: Sequence[str | Path], build_args: Mapping[str, str]) -> str:
        """The id of the image that a context gives. The build's log goes to this process's standard error.

        Raises:
            ImageError: the build failed; its log says at what.
        """
        id_file = context.parent / f"{context.name}.iid"
        given = [f"--build-arg={name}={value}" for name, value in build_args.items()]
        # The format is Docker's: SageMaker pulls no other.
        command = self.command(
            "build", "--layers", "--force-rm", "--format=docker", f"--iidfile={id_file}", *given, *options, context
        )
        done = subprocess.run(command, env=self.environment, stdout=2, check=False)
        if done.returncode != 0:
            raise ImageError("the build failed; what was said last above is the reason")
        image_id = id_file.read_text().strip()
        id_file.unlink()
        return image_id

    def inspect(self, image: str) -> dict[str, Any] | None:
        """What is known about an image, by id or name; None when there is none."""
        try:
            found: dict[str, Any] = json.loads(self.run("inspect", "--type=image", image))
        except ImageError:
            return None
        return found

    @contextmanager
    def container(self, image: str) -> Iterator[tuple[str, Path]]:
        """A container of an image, and the folder of its files: a copy of its own, removed at the end."""
        # The process is part of the name, so that what a killed one left can be told.
        name = self.run("from", "--name", f"of-{os.getpid()}-{secrets.token_hex(4)}", "--pull-never", image)
        try:
            yield name, Path(self.run("mount", name))
        finally:
            self.run("rm", name)

    def remove_left_containers(self) -> None:
        """Remove containers whose process was killed before it could."""
        for container in json.loads(self.run("containers", "--json") or "null") or ():
            mark, _, rest = container["containername"].partition("-")
            if mark == "of" and not Path("/proc", rest.partition("-")[0]).exists():
                with suppress(ImageError):  # another process was faster
                    self.run("rm", container["id"])
