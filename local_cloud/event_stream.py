"""The application/vnd.amazon.eventstream encoding, in which InvokeEndpointWithResponseStream answers."""

import json
import struct
import zlib

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_STRING = 7
_MESSAGE_OVERHEAD_BYTES = 16


def payload_part(chunk: bytes) -> bytes:
    """A piece of the container's answer."""
    headers = {":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream"}
    return _message(headers, chunk)


def stream_error(code: str, message: str, error_code: str) -> bytes:
    """An error after the answer has begun."""
    headers = {":message-type": "exception", ":exception-type": code, ":content-type": "application/json"}
    return _message(headers, json.dumps({"Message": message, "ErrorCode": error_code}).encode())


def _message(headers: dict[str, str], payload: bytes) -> bytes:
    """Total length, header length, their checksum, headers, payload, checksum of all; numbers are big-endian."""
    encoded = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", len(encoded) + len(payload) + _MESSAGE_OVERHEAD_BYTES, len(encoded))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + encoded + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    return struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", _STRING, len(value)) + value.encode()
