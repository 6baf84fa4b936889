"""`model-manifest.json`: what the archive holds and where it came from, for the adapter to name in every answer."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from model_build.specification import HubFile, ModelSpecification

MANIFEST_NAME = "model-manifest.json"
TOKENIZER_FOLDER = "tokenizer"

Manifest = dict[str, Any]


def describe_model(specification: ModelSpecification, gguf: Path, tokenizer_files: Sequence[Path]) -> Manifest:
    """The manifest of a fetched model; it depends on the specification and the files alone, never on time or place."""
    return {
        "gguf": {
            **_origin(specification),
            "file": specification.gguf.file,
            "sha256": specification.gguf_sha256,
            "bytes": gguf.stat().st_size,
        },
        "tokenizer": specification.tokenizer
        and {"repo": specification.tokenizer.repository, "revision": specification.tokenizer.revision},
        "tokenizer_files": {
            f"{TOKENIZER_FOLDER}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in tokenizer_files
        },
    }


def to_json(manifest: Mapping[str, Any]) -> bytes:
    """The manifest as the file's bytes."""
    return (json.dumps(manifest, indent=2) + "\n").encode()


def _origin(specification: ModelSpecification) -> Mapping[str, str]:
    gguf = specification.gguf
    if isinstance(gguf, HubFile):
        return {"repo": gguf.repository, "revision": gguf.revision}
    return {"uri": str(gguf)}
