import hashlib
import json

from model_build.manifest import describe_model, to_json
from model_build.specification import HubFile, HubRevision, ModelSpecification, S3Object

SHA256 = "a" * 64


def test_a_hub_model_is_described_by_repository_revision_and_hashes(tmp_path):
    gguf, tokenizer, template = (tmp_path / name for name in ("model.gguf", "tokenizer.json", "chat_template.jinja"))
    gguf.write_bytes(b"GGUF....")
    tokenizer.write_bytes(b"{}")
    template.write_bytes("{{ '→' }}".encode())
    specification = ModelSpecification(
        HubFile("owner/gguf", "4" * 40, "Q4/model.gguf"), SHA256, HubRevision("owner/base", "8" * 40), upload=None
    )

    manifest = describe_model(specification, gguf, [template, tokenizer])

    assert manifest == {
        "gguf": {
            "repo": "owner/gguf",
            "revision": "4" * 40,
            "file": "Q4/model.gguf",
            "sha256": SHA256,
            "bytes": 8,
        },
        "tokenizer": {"repo": "owner/base", "revision": "8" * 40},
        "tokenizer_files": {
            "tokenizer/chat_template.jinja": hashlib.sha256("{{ '→' }}".encode()).hexdigest(),
            "tokenizer/tokenizer.json": hashlib.sha256(b"{}").hexdigest(),
        },
    }
    assert json.loads(to_json(manifest)) == manifest


def test_an_s3_model_is_described_by_its_uri(tmp_path):
    gguf = tmp_path / "model.gguf"
    gguf.write_bytes(b"GGUF")
    specification = ModelSpecification(S3Object("models", "pins/model.gguf"), SHA256, tokenizer=None, upload=None)

    assert describe_model(specification, gguf, []) == {
        "gguf": {"uri": "s3://models/pins/model.gguf", "file": "model.gguf", "sha256": SHA256, "bytes": 4},
        "tokenizer": None,
        "tokenizer_files": {},
    }
