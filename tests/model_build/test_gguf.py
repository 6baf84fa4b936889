import hashlib

import pytest

from model_build.errors import ChecksumMismatch, NotGguf
from model_build.gguf import check_gguf

SOURCE = "s3://models/model.gguf"


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "model.gguf"
        path.write_bytes(content)
        return path, hashlib.sha256(content).hexdigest()

    return write


def test_the_pinned_gguf_passes(file):
    path, sha256 = file(b"GGUF\x03\x00\x00\x00")

    check_gguf(path, sha256, SOURCE)


def test_another_hash_is_refused_naming_both_hashes_and_the_source(file):
    path, sha256 = file(b"GGUF\x03\x00\x00\x00")

    with pytest.raises(ChecksumMismatch) as raised:
        check_gguf(path, "0" * 64, SOURCE)

    assert all(word in str(raised.value) for word in (SOURCE, "0" * 64, sha256))


@pytest.mark.parametrize("content", [b"<!DOCTYPE html>", b"FUGG", b"GGU", b""])
def test_a_pinned_file_that_is_no_gguf_is_refused_with_what_it_begins_with(file, content):
    path, sha256 = file(content)

    with pytest.raises(NotGguf) as raised:
        check_gguf(path, sha256, SOURCE)

    assert repr(content[:4]) in str(raised.value)
    assert SOURCE in str(raised.value)
