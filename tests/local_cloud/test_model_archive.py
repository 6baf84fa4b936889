"""Archives that must not be believed."""

import io
import tarfile

import pytest

from local_cloud.errors import ArchiveError
from local_cloud.model_archive import ModelArchives


@pytest.fixture
def archives(workshop, tmp_path) -> ModelArchives:
    return ModelArchives(tmp_path / "models", workshop.client("s3"))


def put(workshop, name: str, data: bytes) -> str:
    s3 = workshop.client("s3")
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="model.tar.gz", Body=data)
    return f"s3://{name}/model.tar.gz"


def packed(*members: tarfile.TarInfo) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return content.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, 1 if kind == tarfile.REGTYPE else 0
    return info


@pytest.mark.parametrize(
    "hostile",
    [
        member("../outside"),
        member("link", tarfile.SYMTYPE, "/etc/passwd"),
        member("link", tarfile.LNKTYPE, "../../outside"),
        member("device", tarfile.CHRTYPE),
    ],
)
def test_member_that_reaches_outside_is_refused_and_nothing_is_left(workshop, archives, tmp_path, unique, hostile):
    url = put(workshop, unique("hostile"), packed(member("model.gguf"), hostile))

    with pytest.raises(ArchiveError, match="Failed to extract model data archive s3://hostile"):
        archives.fetch(url, 60)

    assert list((tmp_path / "models").iterdir()) == []
    assert not (tmp_path / "outside").exists()


def test_truncated_archive_is_refused(workshop, archives, unique):
    whole = packed(*(member(f"{n}.bin") for n in range(500)))

    with pytest.raises(ArchiveError, match="Failed to extract"):
        archives.fetch(put(workshop, unique("short"), whole[: len(whole) // 2]), 60)


def test_download_over_its_time_is_refused(workshop, archives, unique):
    url = put(workshop, unique("slow"), packed(member("model.gguf")))

    with pytest.raises(ArchiveError, match=r"within 0 s\. Raise ModelDataDownloadTimeoutInSeconds"):
        archives.fetch(url, 0)


@pytest.mark.parametrize("url", ["https://example.com/model.tar.gz", "s3://bucket", "s3://bucket/"])
def test_url_that_is_not_an_object_is_refused(archives, url):
    with pytest.raises(ArchiveError, match=r"is not s3://bucket/key"):
        archives.check(url)
