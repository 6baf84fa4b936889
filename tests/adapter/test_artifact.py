"""Exactly one GGUF, and the one that its manifest names."""

import hashlib
import json
from pathlib import Path

import pytest

from decision_adapter.artifact import find_gguf, open_artifact
from decision_adapter.errors import ArtifactError

CONTENT = b"GGUF and the rest"


def write_model(folder: Path, **manifest: object) -> Path:
    gguf = folder / "m.gguf"
    gguf.write_bytes(CONTENT)
    if manifest:
        declared = {"file": "m.gguf", "sha256": hashlib.sha256(CONTENT).hexdigest(), "bytes": len(CONTENT)}
        document = {"gguf": declared | manifest, "tokenizer": {"repo": "r", "revision": "t"}, "more": 1}
        (folder / "model-manifest.json").write_text(json.dumps(document))
    return gguf


def test_the_gguf_is_found_at_the_root_or_one_folder_down(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "m.gguf").touch()
    assert find_gguf(tmp_path) == tmp_path / "inner" / "m.gguf"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["b.gguf", "x/a.gguf"], r"holds 2 GGUF files, exactly one is needed: b\.gguf, x/a\.gguf$"),
        (["model.bin", "x/y/deep.gguf"], r"holds no GGUF file at its root or one folder down; it holds model\.bin, x$"),
        ([], r"holds no GGUF file .* it holds nothing$"),
    ],
)
def test_a_missing_or_second_gguf_is_refused_with_the_files_seen(
    tmp_path: Path, files: list[str], message: str
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(ArtifactError, match=message):
        find_gguf(tmp_path)


def test_a_model_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"^there is no folder .*nowhere; "):
        find_gguf(tmp_path / "nowhere")


def test_without_a_manifest_the_identity_is_computed(tmp_path: Path) -> None:
    artifact = open_artifact(tmp_path, write_model(tmp_path), "r1")
    assert artifact.source.model_dump() == {
        "file": "m.gguf",
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "bytes": len(CONTENT),
        "repo": None,
        "revision": None,
    }
    assert artifact.tokenizer.revision == "r1"


def test_the_manifest_adds_where_it_came_from(tmp_path: Path) -> None:
    write_model(tmp_path, repo="owner/name", revision="f" * 40)
    artifact = open_artifact(tmp_path, None, "r1")
    assert (artifact.source.repo, artifact.source.revision) == ("owner/name", "f" * 40)
    assert (artifact.tokenizer.repo, artifact.tokenizer.revision) == ("r", "t")


@pytest.mark.parametrize(("field", "value"), [("sha256", "0" * 64), ("bytes", 3), ("file", "other.gguf")])
def test_a_file_that_is_not_the_manifests_is_refused(tmp_path: Path, field: str, value: object) -> None:
    write_model(tmp_path, **{field: value})
    with pytest.raises(ArtifactError, match=rf"is not the file of model-manifest\.json: {field} is .*, declared "):
        open_artifact(tmp_path, None, None)


def test_a_manifest_that_is_none_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "model-manifest.json").write_text('{"gguf": {"file": "m.gguf"}}')
    with pytest.raises(ArtifactError, match=r"is not a manifest: gguf\.sha256: Field required"):
        open_artifact(tmp_path, None, None)
