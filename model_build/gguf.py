"""What a file must be to count as the pinned GGUF."""

import hashlib
from pathlib import Path

from model_build.errors import ChecksumMismatch, NotGguf

MAGIC = b"GGUF"


def check_gguf(path: Path, sha256: str, source: str) -> None:
    """Reads the file through once, and returns if it is the pinned GGUF.

    Raises:
        ChecksumMismatch: its SHA-256 is not `sha256`.
        NotGguf: it does not begin with the GGUF magic.
    """
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        magic = file.read(len(MAGIC))
    if actual != sha256:
        raise ChecksumMismatch(source, expected=sha256, actual=actual)
    if magic != MAGIC:
        raise NotGguf(f"{source} begins with {magic!r}, a GGUF with {MAGIC!r}. Pin a model in GGUF format.")
