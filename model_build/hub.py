"""Files of the Hugging Face Hub at a pinned commit, streamed to disk.

The server is HF_ENDPOINT, as everywhere in huggingface_hub. A broken transfer is resumed where it broke, a few times;
a file appears under its name only when it is complete. `local_dir` downloads are plain files, never links to a cache.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile

from model_build.errors import ChecksumMismatch, SourceNotFound, SourceRefused, SourceUnavailable
from model_build.specification import HubFile, HubRevision

TOKENIZER_PATTERNS = ("*.json", "*.jinja", "*.model", "*.txt")
_SHA256_DIGITS = 64

# hf_xet buffers and caches outside our bounds on memory and disk; plain HTTP holds one chunk of 10 MB.
constants.HF_HUB_DISABLE_XET = True


def download_gguf(source: HubFile, sha256: str, folder: Path) -> None:
    """Downloads the GGUF to `folder / source.file`.

    Raises:
        ChecksumMismatch: the Hub itself says that the file is not the pinned one, before anything is transferred.
        SourceNotFound, SourceRefused, SourceUnavailable: the Hub did not give the file.
    """
    with _naming(source):
        url = hf_hub_url(source.repository, source.file, revision=source.revision)
        etag = get_hf_file_metadata(url, token=_token(), retry_on_errors=True).etag or ""
        # The etag of a file in large-file storage is its SHA-256: a wrong pin need not cost gigabytes.
        if len(etag) == _SHA256_DIGITS and etag != sha256:
            raise ChecksumMismatch(str(source), expected=sha256, actual=etag)
        _download(source, folder)


def download_tokenizer(source: HubRevision, folder: Path) -> list[Path]:
    """Downloads the tokenizer files at the repository's root into `folder`; their paths, sorted by name.

    Raises:
        SourceNotFound: also when no file matches TOKENIZER_PATTERNS.
        SourceRefused, SourceUnavailable: the Hub did not give a file.
    """
    with _naming(source):
        entries = HfApi(token=_token()).list_repo_tree(source.repository, revision=source.revision)
        names = sorted(entry.path for entry in entries if isinstance(entry, RepoFile))
    wanted = [name for name in names if any(fnmatch(name, pattern) for pattern in TOKENIZER_PATTERNS)]
    if not wanted:
        raise SourceNotFound(
            f"{source} has no tokenizer file ({', '.join(TOKENIZER_PATTERNS)}) at its root; it has: "
            f"{', '.join(names) or 'no files'}. Name the repository the tokenizer lies in, or leave the tokenizer out."
        )
    for name in wanted:
        file = HubFile(source.repository, source.revision, name)
        with _naming(file):
            _download(file, folder)
    return [folder / name for name in wanted]


def _download(source: HubFile, folder: Path) -> None:
    hf_hub_download(source.repository, source.file, revision=source.revision, local_dir=folder, token=_token())


def _token() -> str | bool:
    """HF_TOKEN, or False: a token that somebody's login left on this machine is not ours to send."""
    return os.environ.get("HF_TOKEN", "").strip() or False


@contextmanager
def _naming(source: HubFile | HubRevision) -> Iterator[None]:
    """Turns what huggingface_hub raises into our errors, each naming the source and the endpoint asked."""
    asked = f"{source}, asked of {constants.ENDPOINT}"
    try:
        yield
    except GatedRepoError as error:
        raise SourceRefused(f"{asked}: the repository is gated; accept its terms and set HF_TOKEN.") from error
    except RepositoryNotFoundError as error:
        raise SourceNotFound(f"{asked}: no such repository, or it is private and needs HF_TOKEN.") from error
    except RevisionNotFoundError as error:
        raise SourceNotFound(f"{asked}: the repository has no such revision.") from error
    except RemoteEntryNotFoundError as error:
        raise SourceNotFound(f"{asked}: the revision has no such file.") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status in (401, 403):
            raise SourceRefused(f"{asked}: HTTP {status}; check that HF_TOKEN may read the repository.") from error
        if status == 404:
            raise SourceNotFound(f"{asked}: HTTP 404.") from error
        raise SourceUnavailable(f"{asked}: HTTP {status}.") from error
    except httpx2.HTTPError as error:
        raise SourceUnavailable(f"{asked}: {error or type(error).__name__}. Check HF_ENDPOINT and egress.") from error
    except OSError as error:
        if error.errno is not None:  # the local disk's failure, not the Hub's
            raise
        raise SourceUnavailable(f"{asked}: {error.__cause__ or error}") from error
