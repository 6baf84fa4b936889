"""The output: a line an answer, appended whole, so that what is there can always be gone on from.

While a run goes on, answers stand in the order in which they came. At its end the file is written anew, in the order of
the input and with one line for each of its records, and takes the place of the old one in one step.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from decide.errors import InputError
from decide.files import lock

_BEGINS = b'{"line":'
"""Every line of the output, see `Record.answered`."""


class Place(NamedTuple):
    """A line of the output."""

    number: int
    """Of the line of the input that it is for."""
    digest: str
    is_answer: bool
    offset: int
    size: int


class Totals(NamedTuple):
    """How many records have an answer, and how many an error."""

    answered: int
    failed: int
    first_failed: int = 0
    """The line of the input that is the first without an answer; 0 where all have one."""
    why: str = ""
    """Its error."""


class AnswerFile:
    """The output, open for one process alone."""

    def __init__(self, path: Path) -> None:
        """Open ``path``, or make it. What a crash left of a last line is cut off.

        Raises:
            InputError: it cannot be opened, or holds something else than answers.
            UsageError: another process writes to it.
        """
        self._path = path
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is no file; name one, which is made where there is none")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error
        try:
            lock(self._file, f"{path}: another `decide batch` writes to it; wait for it, or name another --output")
            self._answered = {place.number: place.digest for place in self._places() if place.is_answer}
        except BaseException:
            os.close(self._file)
            raise

    def has(self, number: int, digest: str) -> bool:
        """Whether a line of the input had an answer when this was opened."""
        return self._answered.get(number) == digest

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Add ``lines``; when this returns they are on the disk.

        Raises:
            InputError: they cannot be written.
        """
        text = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        try:
            while text:
                text = text[os.write(self._file, text) :]
            os.fsync(self._file)
        except OSError as error:
            raise self._unwritable(error) from error

    def finish(self, digests: Mapping[int, str]) -> Totals:
        """Put the lines in the order of the input, whose ``digests`` are given by number; others are dropped.

        Raises:
            InputError: the file cannot be written.
        """
        last: dict[int, Place] = {}
        for place in self._places():
            known = last.get(place.number)
            better = known is None or place.is_answer or not known.is_answer
            if better and digests.get(place.number) == place.digest:
                last[place.number] = place
        ordered = [last[number] for number in sorted(last)]
        failed = next((place for place in ordered if not place.is_answer), None)
        why = self._error_at(failed) if failed else ""
        try:
            self._rewrite(ordered)
        except OSError as error:
            raise self._unwritable(error) from error
        answered = sum(place.is_answer for place in ordered)
        return Totals(answered, len(ordered) - answered, failed.number if failed else 0, why)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def _places(self) -> Iterator[Place]:
        offset = 0
        with self._path.open("rb") as file:
            for row, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    self._cut_off(row, line, offset)
                    return
                yield self._place(row, line, offset)
                offset += len(line)

    def _place(self, row: int, line: bytes, offset: int) -> Place:
        try:
            value = json.loads(line)
            is_answer = "status" not in value and "error" not in value
            return Place(int(value["line"]), str(value["input"]), is_answer, offset, len(line))
        except (ValueError, LookupError, TypeError) as error:
            raise self._not_ours(row) from error

    def _cut_off(self, row: int, torn: bytes, offset: int) -> None:
        """Remove what a crash left of a line; what does not begin as ours is somebody's, and stays.

        Raises:
            InputError: it is somebody's.
        """
        if torn[: len(_BEGINS)] != _BEGINS[: len(torn)]:
            raise self._not_ours(row)
        os.ftruncate(self._file, offset)

    def _error_at(self, place: Place) -> str:
        with self._path.open("rb") as file:
            file.seek(place.offset)
            return str(json.loads(file.read(place.size)).get("error"))

    def _rewrite(self, places: Iterable[Place]) -> None:
        partial = self._path.with_name(f"{self._path.name}.partial")
        with self._path.open("rb") as old, partial.open("wb") as new:
            for place in places:
                old.seek(place.offset)
                new.write(old.read(place.size))
            new.flush()
            os.fsync(new.fileno())
        partial.replace(self._path)

    def _not_ours(self, row: int) -> InputError:
        return InputError(f"{self._path}, line {row}: is no answer of `decide batch`; name another --output")

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"{self._path}: cannot be written: {error.strerror}; what was answered before is kept")
