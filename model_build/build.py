"""From a specification to a verified archive: fetch, check, pack, read back, upload.

    work directory/
      gguf/<pinned SHA-256>/…       the GGUF; kept, so a second run does not fetch it again
      tokenizer/<revision>/…        the tokenizer files
      model.tar.gz                  appears only when it is complete and verified

Disk: the GGUF once and the archive once, so about twice the size of the GGUF.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from model_build import hub, s3
from model_build.archive import Member, VerifiedArchive, verify_archive, write_archive
from model_build.errors import ModelBuildError
from model_build.gguf import check_gguf
from model_build.manifest import MANIFEST_NAME, TOKENIZER_FOLDER, Manifest, describe_model, to_json
from model_build.progress import megabytes, step
from model_build.specification import HubFile, HubRevision, ModelSpecification

ARCHIVE_NAME = "model.tar.gz"
CALIBRATION_NAME = "calibration.json"


@dataclass(frozen=True)
class BuildResult:
    """What a build made; its fields are the JSON line the command prints."""

    model_data_url: str | None  # s3:// URI, None when nothing was uploaded
    sha256: str  # of the archive, hex
    size_bytes: int  # of the archive
    manifest: Manifest


def build_model(specification: ModelSpecification, work_dir: Path) -> BuildResult:
    """Packs the model into `work_dir / ARCHIVE_NAME` and uploads it if the specification says where.

    Raises:
        ModelBuildError: one of its kinds, see errors.py; the archive's name then holds what it held before.
    """
    # The small files first: a mistake there shows before gigabytes are fetched.
    tokenizer_files = _fetch_tokenizer(specification.tokenizer, work_dir / "tokenizer")
    gguf = _fetch_gguf(specification, work_dir / "gguf" / specification.gguf_sha256)
    manifest = describe_model(specification, gguf, tokenizer_files)
    members = [
        Member(PurePosixPath(specification.gguf.file).name, gguf),
        Member(MANIFEST_NAME, to_json(manifest)),
        *(Member(f"{TOKENIZER_FOLDER}/{path.name}", path) for path in tokenizer_files),
    ]
    if specification.calibration is not None:
        members.append(Member(CALIBRATION_NAME, specification.calibration.encode()))
    archive = work_dir / ARCHIVE_NAME
    verified = _pack(archive, members, specification.gguf_sha256)
    if specification.upload:
        with step(f"uploading {megabytes(verified.size_bytes)} to {specification.upload}"):
            s3.upload_archive(archive, verified.sha256, specification.upload)
    url = str(specification.upload) if specification.upload else None
    return BuildResult(model_data_url=url, manifest=manifest, **asdict(verified))


def _fetch_gguf(specification: ModelSpecification, folder: Path) -> Path:
    """Path of the pinned GGUF, fetched unless an earlier run left it."""
    source, sha256 = specification.gguf, specification.gguf_sha256
    path = folder / source.file
    if not path.is_file():
        with step(f"fetching {source}"):
            if isinstance(source, HubFile):
                hub.download_gguf(source, sha256, folder)
            else:
                s3.download_gguf(source, folder)
    try:
        with step(f"checking the SHA-256 of {path.name} ({megabytes(path.stat().st_size)})"):
            check_gguf(path, sha256, str(source))
    except ModelBuildError:
        path.unlink()  # the next run must fetch it again
        raise
    return path


def _fetch_tokenizer(source: HubRevision | None, folder: Path) -> Sequence[Path]:
    if source is None:
        return ()
    with step(f"fetching the tokenizer files of {source}"):
        return hub.download_tokenizer(source, folder / source.revision)


def _pack(archive: Path, members: Sequence[Member], gguf_sha256: str) -> VerifiedArchive:
    partial = archive.with_name(f"{archive.name}.partial")
    try:
        with step(f"packing {len(members)} files into {archive}"):
            write_archive(partial, members)
        with step(f"reading {megabytes(partial.stat().st_size)} of archive back"):
            verified = verify_archive(partial, [member.name for member in members], gguf_sha256)
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)
    return verified
