"""Model archives as SageMaker hands them to a container: fetched from S3 and extracted to a read-only directory."""

import contextlib
import hashlib
import shutil
import tarfile
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from local_cloud.errors import ArchiveError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_CHUNK_BYTES = 1 << 20


class ModelArchives:
    """Extracted archives of one clone, `<root>/<sha256 of the archive>/`, shared by all endpoints that use them."""

    def __init__(self, root: Path, s3: "S3Client") -> None:
        self._root = root
        self._s3 = s3
        self._lock = threading.Lock()
        self._by_version: dict[tuple[str, str], Path] = {}

    def check(self, url: str) -> None:
        """Make sure that an object exists.

        Raises:
            ArchiveError: it does not, or the URL is not s3://bucket/key.
        """
        self._etag(url)

    def fetch(self, url: str, timeout_seconds: float) -> Path:
        """The directory an archive was extracted to; it stands for /opt/ml/model.

        Raises:
            ArchiveError: missing, too slow, not a gzip tar, or with members that reach outside.
        """
        with self._lock:
            version = (url, self._etag(url))
            if version not in self._by_version:
                self._by_version[version] = self._extracted(url, timeout_seconds)
            return self._by_version[version]

    def _etag(self, url: str) -> str:
        bucket, key = _location(url)
        try:
            return self._s3.head_object(Bucket=bucket, Key=key)["ETag"]
        except ClientError as error:
            raise ArchiveError(f"Could not find model data at {url}.") from error

    def _extracted(self, url: str, timeout_seconds: float) -> Path:
        self._root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="partial-", dir=self._root) as partial:
            archive = Path(partial) / "model.tar.gz"
            target = self._root / self._download(url, archive, timeout_seconds)
            if not target.is_dir():
                extracted = Path(partial) / "model"
                _extract(archive, extracted, url)
                extracted.rename(target)
            return target

    def _download(self, url: str, archive: Path, timeout_seconds: float) -> str:
        """SHA-256 of the object, now in `archive`."""
        bucket, key = _location(url)
        deadline = time.monotonic() + timeout_seconds
        digest = hashlib.sha256()
        body = self._s3.get_object(Bucket=bucket, Key=key)["Body"]
        with contextlib.closing(body), archive.open("wb") as file:
            for chunk in body.iter_chunks(_CHUNK_BYTES):
                if time.monotonic() > deadline:
                    raise ArchiveError(
                        f"Model data at {url} was not downloaded within {timeout_seconds:.0f} s. Raise "
                        "ModelDataDownloadTimeoutInSeconds of the production variant."
                    )
                digest.update(chunk)
                file.write(chunk)
        return digest.hexdigest()


def _location(url: str) -> tuple[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    if not url.startswith("s3://") or not bucket or not key:
        raise ArchiveError(f"Model data {url!r} is not s3://bucket/key.")
    return bucket, key


def _extract(archive: Path, directory: Path, url: str) -> None:
    directory.mkdir()
    try:
        with tarfile.open(archive, "r:*") as tar:
            # The data filter refuses absolute paths, members outside the directory, devices and links that leave it.
            tar.extractall(directory, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise ArchiveError(f"Failed to extract model data archive {url}: {error}") from error
    for path in directory.rglob("*"):
        # Files only: whoever removes the state directory must be able to empty its folders.
        if path.is_file() and not path.is_symlink():
            path.chmod(0o444)
