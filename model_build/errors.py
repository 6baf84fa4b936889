"""What can go wrong in a model build.

    ModelBuildError             exit code  retryable
    ├── InvalidSpecification    2          no         options that are missing, malformed or contradict each other
    ├── SourceNotFound          1          no         no such repository, revision, file, bucket or key
    ├── SourceRefused           1          no         the source exists but these credentials may not read it
    ├── SourceUnavailable       1          yes        unreachable, overloaded, or the transfer broke off
    ├── ChecksumMismatch        1          no         what was fetched is not what was pinned
    ├── NotGguf                 1          no         the pinned file is no GGUF
    ├── InvalidArchive          1          yes        the written archive does not hold what was packed
    └── UploadFailed            1          yes        S3 did not take the archive

Messages name the source or the option, what was seen, what was expected, and what to do.
"""

from collections.abc import Sequence
from typing import ClassVar


class ModelBuildError(Exception):
    """A model build that cannot go on; `str()` is written for the person who started it."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False


class InvalidSpecification(ModelBuildError):  # noqa: N818 - named for what is wrong, as the others are
    """Options that name no model; `problems` holds all of them, one sentence each."""

    exit_code = 2

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"the model specification has {len(problems)} problem(s):{lines}")


class SourceNotFound(ModelBuildError):  # noqa: N818
    """The Hub or S3 answered that it has no such thing."""


class SourceRefused(ModelBuildError):  # noqa: N818
    """The Hub or S3 answered that the caller may not read it."""


class SourceUnavailable(ModelBuildError):  # noqa: N818
    """The Hub or S3 did not answer, or not to the end."""

    retryable = True


class ChecksumMismatch(ModelBuildError):  # noqa: N818
    """The bytes of the source differ from the pin."""

    def __init__(self, source: str, expected: str, actual: str) -> None:
        super().__init__(
            f"SHA-256 of {source} differs from the pin:\n  pinned: {expected}\n  actual: {actual}\n"
            "Nothing was packed. Correct the pin (--gguf-sha256, MODEL_GGUF_SHA256) if this is the file you want."
        )


class NotGguf(ModelBuildError):  # noqa: N818
    """The file does not begin as a GGUF does."""


class InvalidArchive(ModelBuildError):  # noqa: N818
    """Reading the archive back gave something else than was packed."""

    retryable = True


class UploadFailed(ModelBuildError):  # noqa: N818
    """S3 did not take the archive; it is still in the work directory."""

    retryable = True
