"""The bytes of a request body: read to its declared end, decompressed, and never more of them than are allowed.

A body that is refused costs little, whatever it claims or would unfold to: what comes is read up to the limit, and
decompressed up to the limit.
"""

import sys
import zlib
from collections.abc import Callable
from typing import Protocol

from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]

from decision_adapter.arrival import ARRIVAL_SECONDS, LateRequest
from decision_adapter.errors import (
    InvalidRequestError,
    LateRequestError,
    Problem,
    TooLargeError,
    UnsupportedEncodingError,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_WINDOW_LOG = 23
"""zstd windows of up to 2^23 bytes, 8 MiB, which RFC 9659 sets for HTTP; a larger one would cost that much memory."""


class Stream(Protocol):
    """What a body is read from; WSGI's ``wsgi.input``."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; fewer only at the end."""


class _Decompressor(Protocol):
    """What zlib's and zstd's decompressors have in common."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def _gzip() -> _Decompressor:
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)


def _zstd() -> _Decompressor:
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG})


DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {"zstd": _zstd, "gzip": _gzip, "x-gzip": _gzip}
"""The encodings beside ``identity``, by their names in Content-Encoding."""


def read(stream: Stream, declared_bytes: int | None, max_bytes: int) -> bytes:
    """The body as it was sent.

    Args:
        stream: where it comes from.
        declared_bytes: its Content-Length; None for a body in chunks, or none.
        max_bytes: how many bytes it may have (SEMIF_MAX_BODY_BYTES).

    Raises:
        InvalidRequestError: it ends early or its chunks are malformed.
        LateRequestError: it did not arrive in time.
        TooLargeError: it has more than ``max_bytes``; it is not read any further.
    """
    if declared_bytes is not None and declared_bytes > max_bytes:
        raise _too_large(f"{declared_bytes} bytes", max_bytes)
    try:
        # A body sent in chunks declares no length, so what counts is what comes; one byte more than allowed is enough.
        body = stream.read(max_bytes + 1)
    except LateRequest as error:
        raise LateRequestError(
            f"body: did not arrive within {ARRIVAL_SECONDS} s; send as many bytes as Content-Length says"
        ) from error
    except ParseException as error:
        raise _wrong(f"its chunks are malformed: {str(error)[:80]}") from error
    except OSError as error:
        raise _wrong("ends before its last chunk does") from error
    if len(body) > max_bytes:
        raise _too_large(f"more than {max_bytes} bytes", max_bytes)
    if declared_bytes is not None and len(body) < declared_bytes:
        raise _wrong(f"ends after {len(body)} of the {declared_bytes} bytes of its Content-Length")
    return body


def decode(body: bytes, content_encoding: str, max_bytes: int) -> bytes:
    """What ``body`` was before its sender encoded it as the header ``content_encoding`` says.

    Raises:
        InvalidRequestError: it is not encoded so, ends early, or goes on after its end.
        UnsupportedEncodingError: the encoding is unknown, or there are several.
        TooLargeError: it has more than ``max_bytes`` when decompressed.
    """
    encodings = [name for item in content_encoding.split(",") if (name := item.strip().lower()) not in ("", "identity")]
    if not encodings:
        return body
    if len(encodings) > 1 or encodings[0] not in DECOMPRESSORS:
        raise UnsupportedEncodingError(
            f"Content-Encoding: must be one of zstd, gzip and identity, got {content_encoding[:80]}"
        )
    [encoding] = encodings
    decompressor = DECOMPRESSORS[encoding]()
    try:
        decoded = decompressor.decompress(body, max_bytes + 1)
    except (zlib.error, zstd.ZstdError) as error:
        windows = "; its window may have up to 8 MiB" if encoding == "zstd" else ""
        raise _wrong(f"cannot be decompressed as {encoding}: {error}{windows}") from error
    if len(decoded) > max_bytes:
        raise _too_large(f"more than {max_bytes} bytes when decompressed", max_bytes)
    if not decompressor.eof:
        raise _wrong(f"ends before its {encoding} data does")
    if decompressor.unused_data:
        raise _wrong(
            f"{len(decompressor.unused_data)} bytes follow the end of its {encoding} data; send it as one piece"
        )
    return decoded


def _wrong(sentence: str) -> InvalidRequestError:
    return InvalidRequestError(Problem((), sentence))


def _too_large(seen: str, max_bytes: int) -> TooLargeError:
    return TooLargeError(f"body: {seen}, at most {max_bytes} (SEMIF_MAX_BODY_BYTES); shorten the state")
