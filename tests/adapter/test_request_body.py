"""Reading and decompressing a body, within its limit."""

import gzip
import io
import tracemalloc

import pytest
from backports import zstd
from gunicorn.http.errors import InvalidChunkSize

from decision_adapter.arrival import LateRequest
from decision_adapter.errors import (
    InvalidRequestError,
    LateRequestError,
    RequestError,
    TooLargeError,
    UnsupportedEncodingError,
)
from decision_adapter.request_body import DECOMPRESSORS, decode, read

LIMIT = 4096
BODY = b'{"decision": {}}'
CHECKED = {zstd.CompressionParameter.checksum_flag: 1}
ENCODED = {"zstd": zstd.compress(BODY, options=CHECKED), "gzip": gzip.compress(BODY), "x-gzip": gzip.compress(BODY)}


class Broken:
    """A stream that fails with ``error``."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def read(self, size: int, /) -> bytes:
        raise self._error


@pytest.mark.parametrize("declared", [len(BODY), None])
def test_a_body_is_read_to_its_end(declared: int | None) -> None:
    assert read(io.BytesIO(BODY), declared, LIMIT) == BODY


def test_a_body_that_declares_too_much_is_not_read() -> None:
    stream = io.BytesIO(BODY)
    with pytest.raises(TooLargeError, match=r"^body: 4097 bytes, at most 4096 \(SEMIF_MAX_BODY_BYTES\)"):
        read(stream, LIMIT + 1, LIMIT)
    assert stream.tell() == 0


def test_a_body_in_chunks_is_read_as_far_as_allowed() -> None:
    stream = io.BytesIO(b" " * 3 * LIMIT)
    with pytest.raises(TooLargeError, match=r"^body: more than 4096 bytes, at most 4096"):
        read(stream, None, LIMIT)
    assert stream.tell() == LIMIT + 1


@pytest.mark.parametrize(
    ("failure", "error", "message"),
    [
        (
            LateRequest(),
            LateRequestError,
            "body: did not arrive within 10 s; send as many bytes as Content-Length says",
        ),
        (InvalidChunkSize(b"z" * 500), InvalidRequestError, "body: its chunks are malformed: Invalid chunk size"),
        (ConnectionResetError(), InvalidRequestError, "body: ends before its last chunk does"),
    ],
)
def test_a_body_that_cannot_be_read_is_the_senders_fault(
    failure: Exception, error: type[RequestError], message: str
) -> None:
    with pytest.raises(error) as raised:
        read(Broken(failure), None, LIMIT)
    assert str(raised.value).startswith(message)
    assert len(str(raised.value)) < 200


def test_a_body_that_ends_before_its_declared_length_is_refused_even_if_it_is_json() -> None:
    with pytest.raises(InvalidRequestError, match=r"^body: ends after 16 of the 17 bytes of its Content-Length"):
        read(io.BytesIO(BODY), len(BODY) + 1, LIMIT)


@pytest.mark.parametrize("header", ["", "identity", " Identity ", "identity, identity"])
def test_a_body_without_an_encoding_is_as_it_came(header: str) -> None:
    assert decode(BODY, header, LIMIT) == BODY


@pytest.mark.parametrize("encoding", DECOMPRESSORS)
@pytest.mark.parametrize("written", ["{}", " {} ", "identity, {}"])
def test_an_encoded_body_is_decoded(encoding: str, written: str) -> None:
    assert decode(ENCODED[encoding], written.format(encoding.upper()), LIMIT) == BODY


@pytest.mark.parametrize("header", ["br", "deflate", "gzip, zstd", "zstd, zstd", "*", "gzip;q=1", "\x00"])
def test_an_unknown_encoding_is_refused_with_those_that_are_known(header: str) -> None:
    with pytest.raises(UnsupportedEncodingError, match=r"must be one of zstd, gzip and identity, got "):
        decode(BODY, header, LIMIT)


@pytest.mark.parametrize("encoding", DECOMPRESSORS)
def test_a_body_of_exactly_the_limit_is_decoded_and_one_more_byte_is_refused(encoding: str) -> None:
    compress = zstd.compress if encoding == "zstd" else gzip.compress
    assert decode(compress(b" " * LIMIT), encoding, LIMIT) == b" " * LIMIT
    with pytest.raises(TooLargeError, match=r"^body: more than 4096 bytes when decompressed, at most 4096"):
        decode(compress(b" " * (LIMIT + 1)), encoding, LIMIT)


@pytest.mark.parametrize("encoding", DECOMPRESSORS)
def test_what_would_unfold_to_fifty_megabytes_is_not_unfolded(encoding: str) -> None:
    compress = zstd.compress if encoding == "zstd" else gzip.compress
    bomb = compress(b" " * 50_000_000)
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        decode(bomb, encoding, 262_144)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("encoding", DECOMPRESSORS)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda body: b"", "body: ends before its {} data does"),
        (lambda body: body[:4], "body: ends before its {} data does"),
        (lambda body: body[:-1], "body: ends before its {} data does"),
        (lambda body: body + b"x", "body: 1 bytes follow the end of its {} data"),
        (lambda body: body * 2, "bytes follow the end of its {} data"),
        (lambda body: BODY, "body: cannot be decompressed as {}: "),
        (lambda body: b"\x00" + body, "body: cannot be decompressed as {}: "),
        (lambda body: body[:12] + b"\xff" * 8 + body[20:], "body: "),
    ],
)
def test_damaged_data_is_the_senders_fault(encoding: str, damage: object, message: str) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        decode(damage(ENCODED[encoding]), encoding, LIMIT)  # type: ignore[operator]
    assert message.format(encoding) in str(raised.value)


def test_a_zstd_window_of_more_than_eight_mebibytes_is_refused_before_it_is_allocated() -> None:
    # given frames of one empty last block, by hand: magic, no content size, window descriptor, block header
    def frame(window_log: int) -> bytes:
        return b"\x28\xb5\x2f\xfd\x00" + bytes([(window_log - 10) << 3]) + b"\x01\x00\x00"

    # then
    assert decode(frame(23), "zstd", LIMIT) == b""
    for window_log in (24, 27, 31, 41):
        with pytest.raises(InvalidRequestError, match="its window may have up to 8 MiB"):
            decode(frame(window_log), "zstd", LIMIT)
