"""The model archive as SageMaker extracts it: one GGUF and, usually, a manifest that names it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from decision_adapter.errors import ArtifactError

MANIFEST = "model-manifest.json"
BLOCK_BYTES = 8 * 1024 * 1024


class GgufSource(BaseModel):
    """``gguf`` of the manifest; ``repo`` and ``revision`` are absent for a file that came from elsewhere."""

    model_config = ConfigDict(frozen=True)

    file: str
    sha256: str
    bytes: int
    repo: str | None = None
    revision: str | None = None


class TokenizerSource(BaseModel):
    """``tokenizer`` of the manifest."""

    model_config = ConfigDict(frozen=True)

    repo: str | None = None
    revision: str | None = None


class Manifest(BaseModel):
    """The fields of ``model-manifest.json`` that are read here; it may hold more."""

    model_config = ConfigDict(frozen=True)

    gguf: GgufSource
    tokenizer: TokenizerSource | None = None


@dataclass(frozen=True)
class ModelArtifact:
    """A verified GGUF and what is known about where it came from."""

    gguf: Path
    source: GgufSource
    tokenizer: TokenizerSource


def open_artifact(model_dir: Path, gguf_path: Path | None, tokenizer_revision: str | None) -> ModelArtifact:
    """The artifact under ``model_dir``, its GGUF read once from end to end.

    The read computes the SHA-256 and leaves the file in the page cache, in which llama.cpp then maps it.

    Raises:
        ArtifactError: no GGUF, more than one, or not the one the manifest names.
    """
    gguf = locate(model_dir, gguf_path)
    manifest = read_manifest(model_dir)
    found = GgufSource(file=gguf.name, sha256=sha256(gguf), bytes=gguf.stat().st_size)
    if manifest is None:
        return ModelArtifact(gguf, found, TokenizerSource(revision=tokenizer_revision))
    for field in ("file", "bytes", "sha256"):
        declared, actual = getattr(manifest.gguf, field), getattr(found, field)
        if declared != actual:
            raise ArtifactError(f"{gguf} is not the file of {MANIFEST}: {field} is {actual}, declared {declared}")
    tokenizer = manifest.tokenizer or TokenizerSource(revision=tokenizer_revision)
    return ModelArtifact(gguf, manifest.gguf, tokenizer)


def locate(model_dir: Path, gguf_path: Path | None) -> Path:
    """The GGUF to load: ``gguf_path`` when it is given, else the one under ``model_dir``.

    Raises:
        ArtifactError: there is none, or more than one.
    """
    return gguf_path or find_gguf(model_dir)


def find_gguf(model_dir: Path) -> Path:
    """The one ``.gguf`` in ``model_dir`` or one folder down.

    Raises:
        ArtifactError: with the files seen.
    """
    found = sorted(path for pattern in ("*.gguf", "*/*.gguf") for path in model_dir.glob(pattern) if path.is_file())
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(str(path.relative_to(model_dir)) for path in found)
        raise ArtifactError(f"{model_dir} holds {len(found)} GGUF files, exactly one is needed: {names}")
    if not model_dir.is_dir():
        raise ArtifactError(f"there is no folder {model_dir}; it should hold the extracted model archive")
    names = ", ".join(sorted(path.name for path in model_dir.iterdir())[:20]) or "nothing"
    raise ArtifactError(f"{model_dir} holds no GGUF file at its root or one folder down; it holds {names}")


def read_manifest(model_dir: Path) -> Manifest | None:
    """The manifest at the root of ``model_dir``; None when there is none."""
    path = model_dir / MANIFEST
    if not path.is_file():
        return None
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(step) for step in first["loc"]) or "the file"
        raise ArtifactError(f"{path} is not a manifest: {field}: {first['msg']}") from error


def sha256(path: Path) -> str:
    """SHA-256 of the file at ``path``, in hex; reads it sequentially."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
