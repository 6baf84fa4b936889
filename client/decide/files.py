"""Files that people give: read whole or by line, and told about in words when they are not what they should be."""

import fcntl
import json
import sys
from pathlib import Path

from decide.errors import InputError, UsageError

STANDARD_INPUT = Path("-")


def read_bytes(path: Path) -> bytes:
    """What is in a file; of stdin for ``-``.

    Raises:
        InputError: it cannot be read.
    """
    if path == STANDARD_INPUT and sys.stdin is None:  # a shell closed it
        raise InputError("stdin: is closed; name a file, or open it")
    try:
        return sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a folder; name a file in it") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def lock(descriptor: int, taken: str) -> None:
    """Be the only process that writes to an open file until it is closed.

    Raises:
        UsageError: ``taken``; another process writes to it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(taken) from error


def text_of(content: bytes, name: str) -> str:
    """``content`` as text, without the byte order mark that some editors write.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        line = f", line {number}" if b"\n" in content else ""
        raise InputError(
            f"{name}{line}: is not UTF-8 (byte {error.start} is 0x{content[error.start]:02x}); save it as UTF-8"
        ) from error


def json_of(text: str, name: str) -> object:
    """The JSON value that ``text`` is.

    Raises:
        InputError: it is none.
    """
    if not text.strip():
        raise InputError(f"{name}: is empty; JSON is wanted")
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        line = f", line {error.lineno}" if "\n" in text else ""
        raise InputError(f"{name}{line}, column {error.colno}: is not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, a thousand brackets
        raise InputError(f"{name}: is not JSON that can be read: {error}") from error
    return value


def read_json(path: Path) -> object:
    """The JSON value in a file; in stdin for ``-``.

    Raises:
        InputError: it cannot be read, or is not UTF-8, or not JSON.
    """
    name = "stdin" if path == STANDARD_INPUT else str(path)
    return json_of(text_of(read_bytes(path), name), name)


def keep_apart(option: str, path: Path, *others: Path | None) -> None:
    """Nothing, when what is written to ``path`` replaces none of the ``others``.

    Raises:
        UsageError: it is one of them; ``option`` is how it was named.
    """
    for other in others:
        if other is not None and other.resolve() == path.resolve():
            raise UsageError(f"{option} {path} is the file {other}, which would be lost: name another file")


def write_text(path: Path, text: str) -> None:
    """Write a file in one step: a reader sees the old one or all of the new one.

    Raises:
        InputError: it cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
