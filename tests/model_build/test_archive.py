import gzip
import hashlib
import io
import os
import tarfile

import pytest

from model_build.archive import Member, verify_archive, write_archive
from model_build.errors import InvalidArchive

GGUF = b"GGUF" + bytes(range(256)) * 4096
GGUF_SHA256 = hashlib.sha256(GGUF).hexdigest()
NAMES = ["model-manifest.json", "model.gguf", "tokenizer/tokenizer.json"]


@pytest.fixture
def members(tmp_path):
    gguf = tmp_path / "fetched.gguf"
    gguf.write_bytes(GGUF)
    return [Member("tokenizer/tokenizer.json", b"{}"), Member("model.gguf", gguf), Member("model-manifest.json", b"[]")]


def pack_raw(path, infos):
    """An archive as somebody else may write it: any kinds of member, `(TarInfo or name, content)`."""
    with tarfile.open(path, "w:gz") as tar:
        for name_or_info, content in infos:
            info = name_or_info if isinstance(name_or_info, tarfile.TarInfo) else tarfile.TarInfo(name_or_info)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def link(kind):
    info = tarfile.TarInfo("tokenizer.json")
    info.type = kind
    info.linkname = "model.gguf"
    return info


def test_the_same_members_give_the_same_bytes_whatever_their_order_time_mode_and_place(members, tmp_path):
    write_archive(tmp_path / "first.tar.gz", members)
    copy = tmp_path / "elsewhere.bin"
    copy.write_bytes(GGUF)
    copy.chmod(0o600)
    os.utime(copy, (1, 1))
    moved = [Member("model.gguf", copy), *(member for member in members if member.name != "model.gguf")]

    write_archive(tmp_path / "second.tar.gz", moved)

    assert (tmp_path / "first.tar.gz").read_bytes() == (tmp_path / "second.tar.gz").read_bytes()


def test_members_are_regular_files_of_root_with_fixed_time_and_mode_sorted_by_name(members, tmp_path):
    write_archive(tmp_path / "model.tar.gz", members)

    with tarfile.open(tmp_path / "model.tar.gz") as tar:
        infos = tar.getmembers()
        assert tar.extractfile("model.gguf").read() == GGUF
    assert [info.name for info in infos] == NAMES
    assert all(info.isreg() for info in infos)
    header = {(i.uid, i.gid, i.uname, i.gname, i.mode, i.mtime) for i in infos}
    assert header == {(0, 0, "", "", 0o644, 315_532_800)}


def test_the_gzip_header_has_no_name_no_time_and_says_fastest(members, tmp_path):
    write_archive(tmp_path / "model.tar.gz", members)

    # RFC 1952: magic 1f8b, method 8 (deflate), flags 0 (no name), time 0, extra flags 4 (fastest), system 255 (unknown)
    assert (tmp_path / "model.tar.gz").read_bytes()[:10] == bytes.fromhex("1f8b08 00 00000000 04 ff")


def test_a_linked_source_is_packed_as_a_file(tmp_path):
    blob, linked = tmp_path / "blob", tmp_path / "model.gguf"
    blob.write_bytes(GGUF)
    linked.symlink_to(blob)

    write_archive(tmp_path / "model.tar.gz", [Member("model.gguf", linked)])

    with tarfile.open(tmp_path / "model.tar.gz") as tar:
        assert tar.getmember("model.gguf").isreg()
        assert tar.extractfile("model.gguf").read() == GGUF


def test_verification_gives_the_hash_and_size_of_the_file_on_disk(members, tmp_path):
    path = tmp_path / "model.tar.gz"
    write_archive(path, members)

    verified = verify_archive(path, reversed(NAMES), GGUF_SHA256)

    assert verified.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert verified.size_bytes == path.stat().st_size


def test_verification_reads_to_the_last_byte_even_where_tar_stops_before(members, tmp_path):
    # given an archive padded with more zeros than tar reads at once, and one bit of gzip's CRC behind them changed
    path = tmp_path / "model.tar.gz"
    write_archive(path, members)
    padded = gzip.compress(gzip.decompress(path.read_bytes()) + bytes(5_000_000))

    path.write_bytes(padded)
    assert verify_archive(path, NAMES, GGUF_SHA256).sha256 == hashlib.sha256(padded).hexdigest()

    path.write_bytes(padded[:-8] + bytes([padded[-8] ^ 1]) + padded[-7:])
    with pytest.raises(InvalidArchive, match="CRC"):
        verify_archive(path, NAMES, GGUF_SHA256)


@pytest.mark.parametrize(
    ("infos", "why"),
    [
        ([("model-manifest.json", b"{}")], "holds 0 GGUF files"),
        ([("a.gguf", GGUF), ("b.gguf", GGUF)], "holds 2 GGUF files"),
        ([("model.gguf", GGUF), (link(tarfile.SYMTYPE), b"")], "'tokenizer.json' is no regular file"),
        ([("model.gguf", GGUF), (link(tarfile.LNKTYPE), b"")], "'tokenizer.json' is no regular file"),
        ([("model.gguf", GGUF), (link(tarfile.DIRTYPE), b"")], "'tokenizer.json' is no regular file"),
        ([("model.gguf", GGUF), ("surprise.txt", b"")], "packed were"),
        ([("model.gguf", GGUF + b"!")], f"packed was {GGUF_SHA256}"),
    ],
)
def test_an_archive_with_other_contents_is_refused(tmp_path, infos, why):
    path = tmp_path / "model.tar.gz"
    pack_raw(path, infos)

    with pytest.raises(InvalidArchive, match=why):
        verify_archive(path, ["model.gguf"], GGUF_SHA256)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-8] + bytes([data[-8] ^ 1]) + data[-7:],  # one bit of gzip's CRC
        lambda data: data[:500] + b"\xff" * 20 + data[520:],
        gzip.decompress,
        lambda data: b"",
    ],
    ids=["truncated", "checksum", "overwritten", "uncompressed", "empty"],
)
def test_a_damaged_archive_is_refused(members, tmp_path, damage):
    path = tmp_path / "model.tar.gz"
    write_archive(path, members)
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(InvalidArchive, match=r"model\.tar\.gz"):
        verify_archive(path, NAMES, GGUF_SHA256)
