"""Container images without an engine: the content of a build, addressed by a digest as a registry would give it."""

import fnmatch
import hashlib
import json
import re
import shutil
import tempfile
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_cloud.errors import ImageError

MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
INDEX_TYPE = "application/vnd.docker.distribution.manifest.list.v2+json"
_CONFIG_TYPE = "application/vnd.docker.container.image.v1+json"
_LAYER_TYPE = "application/vnd.docker.image.rootfs.diff.tar.gzip"
PINNED = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Image:
    """A built image. `content` is the copy of the build context that a container runs from; treat it as read-only."""

    digest: str
    image_id: str
    manifest: str
    content: Path


@dataclass(frozen=True)
class ImageStore:
    """Images of one clone: `<root>/<digest>/{content/,config.json,manifest.json}` and `<root>/tags/<name>`.

    Of a copied image of another registry there is `<root>/published/<digest>` alone, with where it came from.
    """

    root: Path

    def build(
        self,
        context: Path,
        dockerfile: Path,
        build_args: Mapping[str, str],
        platform: str,
        *,
        target: str = "",
        secrets: Sequence[str] = (),  # nothing runs that would read them
    ) -> Image:
        """The image of a build context; equal inputs give the equal digest, byte for byte.

        Raises:
            ImageError: the Dockerfile is missing, or has a base that is not pinned by digest.
        """
        if not dockerfile.is_file():
            raise ImageError(f"failed to read dockerfile: {dockerfile}: no such file")
        text = dockerfile.read_text()
        pinned = list(bases(text, build_args))
        files = [(path, _mode(context / path), _sha256(context / path)) for path in _context_files(context)]
        config = {
            "architecture": platform.partition("/")[2] or platform,
            "os": platform.partition("/")[0],
            "config": {},
            "local_cloud": {
                "target": target,
                "dockerfile": text,
                "build_args": dict(sorted(build_args.items())),
                "bases": pinned,
            },
            "rootfs": {"type": "layers", "diff_ids": [_digest(json.dumps(files))]},
        }
        return self._store(context, [path for path, _, _ in files], _canonical(config), json.dumps(files))

    def base(self, name: str) -> Image | None:
        """What is known about a published base that was pulled: nothing."""
        return None

    def chat_variables(self, image: str, model: Path) -> dict[str, str]:
        """What the chat server needs to run as `image`: nothing, any server of this machine does."""
        return {}

    def tag(self, name: str, digest: str) -> None:
        """Let a name stand for a digest, until it is given to another."""
        path = self.root / "tags" / urllib.parse.quote(name, safe="")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(digest)

    def find(self, digest: str) -> Image | None:
        """The image with a digest, or None when it was not built here."""
        directory = self.root / digest.replace(":", "-")
        if not directory.is_dir():
            return None
        manifest = (directory / "manifest.json").read_text()
        return Image(digest, json.loads(manifest)["config"]["digest"], manifest, directory / "content")

    def add_published(self, name: str, digest: str) -> None:
        """Remember the `registry/repository` that an image comes from that nobody fetches here."""
        path = self._published(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)

    def find_published(self, digest: str) -> str | None:
        """The `registry/repository` that a copied image comes from; None when it is not one."""
        path = self._published(digest)
        return path.read_text() if path.is_file() else None

    def resolve(self, name: str) -> Image:
        """The image that a tag stands for.

        Raises:
            ImageError: nothing was built or tagged under this name.
        """
        path = self.root / "tags" / urllib.parse.quote(name, safe="")
        image = self.find(path.read_text()) if path.is_file() else None
        if image is None:
            raise ImageError(f"An image does not exist locally with the tag: {name}")
        return image

    def _published(self, digest: str) -> Path:
        return self.root / "published" / digest.replace(":", "-")

    def _store(self, context: Path, files: list[str], config: str, layer: str) -> Image:
        manifest = _canonical(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST_TYPE,
                "config": {"mediaType": _CONFIG_TYPE, "size": len(config), "digest": _digest(config)},
                "layers": [{"mediaType": _LAYER_TYPE, "size": len(layer), "digest": _digest(layer)}],
            }
        )
        digest = _digest(manifest)
        known = self.find(digest)
        if known is not None:
            return known
        self.root.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix="partial-", dir=self.root))
        for name in files:
            target = partial / "content" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(context / name, target)
        (partial / "content").mkdir(exist_ok=True)
        (partial / "config.json").write_text(config)
        (partial / "manifest.json").write_text(manifest)
        try:
            partial.rename(self.root / digest.replace(":", "-"))
        except OSError:  # the same image was built at the same time
            shutil.rmtree(partial)
        image = self.find(digest)
        if image is None:
            raise ImageError(f"image {digest} vanished from {self.root}")
        return image


def bases(dockerfile: str, build_args: Mapping[str, str]) -> Iterator[str]:
    """Every base of a Dockerfile, variables replaced.

    Raises:
        ImageError: one is not pinned, or there is none.
    """
    arguments: dict[str, str] = {}
    stages = {"scratch"}
    seen = False
    for line in dockerfile.replace("\\\n", " ").splitlines():
        words = line.split()
        if len(words) < 2:
            continue
        if words[0].upper() == "ARG" and not seen:
            name, _, default = words[1].partition("=")
            arguments[name] = build_args.get(name, default.strip("\"'"))
        elif words[0].upper() == "FROM":
            seen = True
            name = next(word for word in words[1:] if not word.startswith("--"))
            base = re.sub(r"\$\{?(\w+)\}?", lambda match: arguments.get(match[1], ""), name)
            if base not in stages:
                if not PINNED.fullmatch(base):
                    raise ImageError(
                        f"base image {base or name!r} in {line.strip()!r} is not pinned: a tag can change under "
                        "the same name. Give repository@sha256:<64 hex digits>, for example with --build-arg"
                    )
                yield base
            if words[-2].upper() == "AS":
                stages.add(words[-1])
    if not seen:
        raise ImageError("the Dockerfile has no FROM")


def _context_files(context: Path) -> list[str]:
    """Paths of the files in a build context, sorted, without what its .dockerignore names."""
    ignore = context / ".dockerignore"
    rules = [line.strip() for line in ignore.read_text().splitlines()] if ignore.is_file() else []
    rules = [rule for rule in rules if rule and not rule.startswith("#")]
    paths = sorted(path.relative_to(context).as_posix() for path in context.rglob("*") if path.is_file())
    return [path for path in paths if not _ignored(path, rules)]


def _ignored(path: str, rules: list[str]) -> bool:
    ignored = False
    for rule in rules:
        pattern = rule.removeprefix("!").strip("/").replace("**/", "*")
        if fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, f"{pattern}/*"):
            ignored = not rule.startswith("!")
    return ignored


def _mode(path: Path) -> str:
    return "755" if path.stat().st_mode & 0o100 else "644"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
