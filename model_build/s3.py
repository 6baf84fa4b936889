"""Objects in S3, fetched and stored in parallel parts. The server is AWS_ENDPOINT_URL, as everywhere in boto3."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import BotoCoreError, ClientError

from model_build.errors import ModelBuildError, SourceNotFound, SourceRefused, SourceUnavailable, UploadFailed
from model_build.specification import S3Object

# boto3's own queue holds up to 1,000 chunks of 256 KiB when the network is faster than the disk: 256 MB. 100 of them
# and four parts in flight keep a transfer of any size below 64 MB. 10,000 parts of 16 MiB are 160 GB.
_TRANSFER = TransferConfig(max_concurrency=4, multipart_chunksize=16 * 1024 * 1024, max_io_queue=100)


def download_gguf(source: S3Object, folder: Path) -> None:
    """Downloads the GGUF to `folder / source.file`, which appears only when it is complete.

    Raises:
        SourceNotFound, SourceRefused, SourceUnavailable: S3 did not give the object.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _naming(source):
        boto3.client("s3").download_file(source.bucket, source.key, str(folder / source.file), Config=_TRANSFER)


def upload_archive(archive: Path, sha256: str, target: S3Object) -> None:
    """Uploads the archive, with its SHA-256 (hex) as the object's metadata `sha256`.

    Raises:
        UploadFailed: S3 did not take it.
    """
    try:
        boto3.client("s3").upload_file(
            str(archive), target.bucket, target.key, ExtraArgs={"Metadata": {"sha256": sha256}}, Config=_TRANSFER
        )
    except (Boto3Error, BotoCoreError, ClientError) as error:
        raise UploadFailed(
            f"{target} was not written: {error}. Check that the bucket exists and that s3:PutObject is allowed on the "
            f"key; the verified archive is kept at {archive}."
        ) from error


@contextmanager
def _naming(source: S3Object) -> Iterator[None]:
    """Turns what boto3 raises into our errors, each naming the object."""
    try:
        yield
    except ClientError as error:
        raise _mapped(source, error) from error
    except (Boto3Error, BotoCoreError) as error:
        raise SourceUnavailable(
            f"{source}: {error}. Check AWS_ENDPOINT_URL, region, credentials and egress."
        ) from error


def _mapped(source: S3Object, error: ClientError) -> ModelBuildError:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status == 404:
        return SourceNotFound(f"{source}: no such object.")
    if status == 403:
        return SourceRefused(
            f"{source}: access denied. Allow s3:GetObject on the key; without s3:ListBucket on the bucket, S3 also "
            "answers this when the key does not exist."
        )
    return SourceUnavailable(f"{source}: {error}")
