"""`model.tar.gz`: written so that the same members give the same bytes, and read back before anyone relies on it.

Everything streams: neither writing nor reading holds more than a few megabytes, whatever the size of the model.
"""

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from model_build.errors import InvalidArchive

# Weights hardly compress: level 9 costs many minutes more and saves nothing.
_GZIP_LEVEL = 1
_COPY_BYTES = 1024 * 1024
# 1980-01-01: tar programs warn about the "implausibly old" 1970.
_MTIME = 315_532_800


@dataclass(frozen=True)
class Member:
    """A file to be packed: its name in the archive, and the file or the bytes it comes from."""

    name: str
    content: Path | bytes


@dataclass(frozen=True)
class VerifiedArchive:
    """SHA-256 (hex) and size of an archive that was read back and found right."""

    sha256: str
    size_bytes: int


class _HashingReader(io.RawIOBase):
    """A readable stream that hashes what is read through it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.sha256 = hashlib.sha256()
        self._file = file

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.sha256.update(data)
        return data


def write_archive(path: Path, members: Iterable[Member]) -> None:
    """Writes the members, sorted by name, as regular files of root with fixed mode and time.

    Reproducible with the same zlib: another version may compress the same bytes differently.
    """
    with (
        path.open("wb") as file,
        # No name and no time in the gzip header.
        gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=file, mtime=0) as compressed,
        tarfile.open(mode="w|", fileobj=compressed, format=tarfile.PAX_FORMAT, bufsize=_COPY_BYTES) as tar,
    ):
        for member in sorted(members, key=lambda member: member.name):
            with _opened(member.content) as (content, size_bytes):
                tar.addfile(_tar_info(member.name, size_bytes), content)


def verify_archive(path: Path, names: Iterable[str], gguf_sha256: str) -> VerifiedArchive:
    """Reads the whole archive back; its hash and size if it holds exactly `names` and the pinned GGUF.

    Raises:
        InvalidArchive: it is damaged, holds other members, a link, not exactly one GGUF, or another GGUF.
    """
    with path.open("rb") as file:
        hashing = _HashingReader(file)
        try:
            found, gguf_hashes = _read_members(hashing)
        except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
            raise InvalidArchive(
                f"{path} cannot be read back: {error}. Check the disk and run the build again."
            ) from error
    if len(gguf_hashes) != 1:
        raise InvalidArchive(f"{path} holds {len(gguf_hashes)} GGUF files, allowed: exactly one; members: {found}")
    if found != sorted(names):
        raise InvalidArchive(f"{path} holds {found}, packed were {sorted(names)}")
    if gguf_hashes != [gguf_sha256]:
        raise InvalidArchive(f"{path} holds a GGUF with SHA-256 {gguf_hashes[0]}, packed was {gguf_sha256}")
    return VerifiedArchive(hashing.sha256.hexdigest(), path.stat().st_size)


def _read_members(raw: _HashingReader) -> tuple[list[str], list[str]]:
    """Names of all members in order, and the SHA-256 of each GGUF; reads to the last byte, so checks gzip's CRC too."""
    names, gguf_hashes = [], []
    with gzip.GzipFile(fileobj=raw) as decompressed:
        with tarfile.open(mode="r|", fileobj=decompressed, bufsize=_COPY_BYTES) as tar:
            for info in tar:
                content = tar.extractfile(info) if info.isreg() else None
                if content is None:
                    raise tarfile.TarError(f"member {info.name!r} is no regular file")
                names.append(info.name)
                if info.name.endswith(".gguf"):
                    gguf_hashes.append(hashlib.file_digest(cast(io.BufferedReader, content), "sha256").hexdigest())
        while decompressed.read(_COPY_BYTES):
            pass
    return names, gguf_hashes


@contextmanager
def _opened(content: Path | bytes) -> Iterator[tuple[IO[bytes], int]]:
    if isinstance(content, bytes):
        yield io.BytesIO(content), len(content)
    else:
        with content.open("rb") as file:
            yield file, content.stat().st_size


def _tar_info(name: str, size_bytes: int) -> tarfile.TarInfo:
    """A header that tells nothing about the machine: TarInfo's own defaults are a regular file of uid and gid 0."""
    info = tarfile.TarInfo(name)
    info.size = size_bytes
    info.mtime = _MTIME
    info.mode = 0o644
    return info
