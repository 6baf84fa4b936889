"""Which model to pack: where its GGUF comes from, the pins that fix it, and where the archive goes.

Every option is a command-line flag and an environment variable; OPTIONS is the one table of both. Everything is
checked at once, before anything is fetched.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from model_build.errors import InvalidSpecification


@dataclass(frozen=True)
class Option:
    """One option of the command line: its flag, its environment variable, and the values it takes."""

    flag: str
    env: str
    allowed: str
    pattern: re.Pattern[str]

    def __str__(self) -> str:
        return f"{self.flag}/{self.env}"


_REPOSITORY = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# Neither `.` nor `..` as a path segment: the file must stay inside the folder it is downloaded to. One part of a split
# GGUF (`name-00001-of-00002.gguf`) cannot be scored alone, and an archive holds exactly one GGUF.
_GGUF_PATH = r"(?!.*-\d{5}-of-\d{5}\.gguf$)(?:(?!\.{1,2}/)[^/\\\x00-\x1f]+/)*[^/\\\x00-\x1f]+\.gguf"
_GGUF_FILE = re.compile(_GGUF_PATH)
_BUCKET = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/"
_GGUF_URI = re.compile(_BUCKET + _GGUF_PATH)
_ARCHIVE_URI = re.compile(_BUCKET + r"\S+\.tar\.gz")

_A_REPOSITORY = "a Hugging Face model repository, `owner/name`"
_A_COMMIT = "a commit of 40 lower-case hexadecimal digits (a branch or tag moves)"
_ONE_GGUF = "one .gguf that is no part of a split model (join parts with `llama-gguf-split --merge`)"

OPTIONS: Mapping[str, Option] = {
    "gguf_repository": Option("--gguf-repository", "MODEL_GGUF_REPOSITORY", _A_REPOSITORY, _REPOSITORY),
    "gguf_revision": Option("--gguf-revision", "MODEL_GGUF_REVISION", _A_COMMIT, _COMMIT),
    "gguf_file": Option("--gguf-file", "MODEL_GGUF_FILE", f"a path in the repository to {_ONE_GGUF}", _GGUF_FILE),
    "gguf_uri": Option("--gguf-uri", "MODEL_GGUF_URI", f"s3://bucket/key of {_ONE_GGUF}", _GGUF_URI),
    "gguf_sha256": Option("--gguf-sha256", "MODEL_GGUF_SHA256", "64 lower-case hexadecimal digits", _SHA256),
    "tokenizer_repository": Option("--tokenizer-repository", "MODEL_TOKENIZER_REPOSITORY", _A_REPOSITORY, _REPOSITORY),
    "tokenizer_revision": Option("--tokenizer-revision", "MODEL_TOKENIZER_REVISION", _A_COMMIT, _COMMIT),
    "calibration": Option(
        "--calibration",
        "MODEL_CALIBRATION",
        "the text of a calibration.json: an object with an id and a temperature above 0",
        re.compile(r"\s*\{.*\}\s*", re.DOTALL),
    ),
    "upload_uri": Option(
        "--upload-uri", "MODEL_UPLOAD_URI", "s3://bucket/key ending .tar.gz, as SageMaker wants it", _ARCHIVE_URI
    ),
}
_HUB_GGUF = ("gguf_repository", "gguf_revision", "gguf_file")
_TOKENIZER = ("tokenizer_repository", "tokenizer_revision")


@dataclass(frozen=True)
class HubRevision:
    """A model repository on the Hugging Face Hub at one commit."""

    repository: str
    revision: str

    def __str__(self) -> str:
        return f"{self.repository} @ {self.revision}"


@dataclass(frozen=True)
class HubFile:
    """A file of a Hub repository at one commit; `file` is its path in the repository."""

    repository: str
    revision: str
    file: str

    def __str__(self) -> str:
        return f"{self.repository} @ {self.revision}, file {self.file}"


@dataclass(frozen=True)
class S3Object:
    """An object in S3."""

    bucket: str
    key: str

    @property
    def file(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


@dataclass(frozen=True)
class ModelSpecification:
    """A model, completely pinned: the same specification packs to the same bytes."""

    gguf: HubFile | S3Object
    gguf_sha256: str
    tokenizer: HubRevision | None  # None: the GGUF's own vocabulary and chat template serve
    upload: S3Object | None  # None: the archive stays in the work directory
    calibration: str | None = None  # the text of calibration.json; None: probabilities stay as the model gives them


def parse_specification(values: Mapping[str, str]) -> ModelSpecification:
    """The specification that option values describe; keys as in OPTIONS, an empty value means "not given".

    Raises:
        InvalidSpecification: naming every option that is missing, malformed or one too many.
    """
    given = {name: values[name] for name in OPTIONS if values.get(name)}
    problems = [*_malformed(given), *_missing_or_contradicting(given)]
    if problems:
        raise InvalidSpecification(problems)
    return ModelSpecification(
        gguf=_s3_object(given["gguf_uri"]) if "gguf_uri" in given else HubFile(*(given[name] for name in _HUB_GGUF)),
        gguf_sha256=given["gguf_sha256"],
        tokenizer=HubRevision(*(given[name] for name in _TOKENIZER)) if _TOKENIZER[0] in given else None,
        upload=_s3_object(given["upload_uri"]) if "upload_uri" in given else None,
        calibration=given.get("calibration"),
    )


def _malformed(given: Mapping[str, str]) -> list[str]:
    return [
        f"{OPTIONS[name]}: {value[:200]!r} is not allowed; allowed: {OPTIONS[name].allowed}"
        for name, value in given.items()
        if not OPTIONS[name].pattern.fullmatch(value) or (name == "calibration" and not _is_calibration(value))
    ]


def _is_calibration(text: str) -> bool:
    """Whether ``text`` has what each calibration has; the adapter, which knows every field, reads it when it starts."""
    try:
        content = json.loads(text)
    except ValueError:
        return False
    temperature = content.get("temperature")
    named = isinstance(content.get("id"), str) and content["id"].strip() != ""
    return named and isinstance(temperature, int | float) and temperature is not True and 0 < temperature < math.inf


def _missing_or_contradicting(given: Mapping[str, str]) -> list[str]:
    from_hub = [name for name in _HUB_GGUF if name in given]
    required = ["gguf_sha256"]
    problems = []
    if from_hub and "gguf_uri" in given:
        also = ", ".join(str(OPTIONS[name]) for name in from_hub)
        problems.append(
            f"{OPTIONS['gguf_uri']}: {given['gguf_uri'][:200]!r} is given together with {also}; allowed: exactly one "
            "source, the Hub or S3"
        )
    elif from_hub:
        required += _HUB_GGUF
    elif "gguf_uri" not in given:
        hub = ", ".join(str(OPTIONS[name]) for name in _HUB_GGUF)
        problems.append(f"no source is given; allowed: exactly one, the Hub ({hub}) or S3 ({OPTIONS['gguf_uri']})")
    if any(name in given for name in _TOKENIZER):
        required += _TOKENIZER
    return problems + [
        f"{OPTIONS[name]}: missing; allowed: {OPTIONS[name].allowed}" for name in required if name not in given
    ]


def _s3_object(uri: str) -> S3Object:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return S3Object(bucket, key)
