"""Settings of the model that is packed and served."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from decision_constructs import calibration_file
from decision_constructs.section import Problem, Raw, Section, expected

# no `..`, nothing a shell or a URI would read in another way; `-00001-of-00002` is one part of a split model
_PLAIN_PATH = r"(?:[A-Za-z0-9_][A-Za-z0-9_.+ -]*/)*[A-Za-z0-9_][A-Za-z0-9_.+ -]*"
_CALIBRATION = re.compile(rf"{_PLAIN_PATH}\.json")
_SPLIT = re.compile(r"-[0-9]{5}-of-[0-9]{5}\.gguf$")

Revision = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$", description="a commit of 40 lower-case hex digits")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="64 lower-case hex digits")]
Repository = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*$",
        description="a Hugging Face repository, owner/name",
    ),
]
GgufFile = Annotated[str, Field(pattern=rf"^{_PLAIN_PATH}\.gguf$", description="a .gguf file of the repository")]
ArchiveUri = Annotated[
    str,
    Field(
        pattern=rf"^s3://[a-z0-9][a-z0-9.-]+/{_PLAIN_PATH}\.tar\.gz$",
        description="an archive that model_build has packed, s3://bucket/key.tar.gz",
    ),
]
GgufUri = Annotated[
    str,
    Field(pattern=rf"^s3://[a-z0-9][a-z0-9.-]+/{_PLAIN_PATH}\.gguf$", description="s3://bucket/key.gguf"),
]
CalibrationFile = Annotated[
    str,
    Field(pattern=rf"^{_PLAIN_PATH}\.json$", description="a file of this project that `decide calibrate` wrote, .json"),
]


class Tokenizer(Section):
    """The tokenizer files packed beside the GGUF; they bring the chat template."""

    repository: Repository
    revision: Revision


class Model(Section):
    """The GGUF that both contracts serve: from the Hugging Face Hub, from S3, or in an archive packed already."""

    repository: Repository | None = None
    revision: Revision | None = None
    file: GgufFile | None = None
    uri: GgufUri | None = None
    archive_uri: ArchiveUri | None = None
    sha256: Sha256 | None = None
    tokenizer: Tokenizer | None = None
    calibration: CalibrationFile | None = None
    size_bytes: Annotated[int, Field(ge=1, le=10**13, description="the size of the .gguf, 1 to 10^13 bytes")] | None = (
        None
    )
    cache_bytes_per_token: Annotated[
        int, Field(ge=1, le=10**8, description="1 to 10^8 bytes of KV cache for a token of context")
    ] = 147_456

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """One source, whole."""
        for key in ("file", "uri"):
            if isinstance(raw.get(key), str) and _SPLIT.search(raw[key]):
                yield (key,), f"{raw[key]!r}: one part of a split model; join the parts with llama-gguf-split --merge"
        hub = [key for key in ("repository", "revision", "file") if key in raw]
        if sum((bool(hub), "uri" in raw, "archive_uri" in raw)) != 1:
            yield (
                (),
                "give one source: repository, revision and file (Hub), uri (S3) or archive_uri (packed already)",
            )
        elif hub:
            for key in {"repository", "revision", "file"} - set(hub):
                yield (key,), f"missing; {expected(cls, key)}"
        if "archive_uri" not in raw and "sha256" not in raw:
            yield ("sha256",), f"missing; {expected(cls, 'sha256')}"
        if "archive_uri" not in raw and "calibration" in raw:
            yield from cls._calibration_problems(raw["calibration"])
        for key in {"sha256", "tokenizer", "calibration"} & raw.keys() if "archive_uri" in raw else ():
            yield (key,), "is for packing, and archive_uri is packed already; remove it"

    @classmethod
    def _calibration_problems(cls, path: object) -> Iterator[Problem]:
        if isinstance(path, str) and _CALIBRATION.fullmatch(path):
            try:
                calibration_file.text(path)
            except ValueError as error:
                yield ("calibration",), f"{path!r}: {error}"
