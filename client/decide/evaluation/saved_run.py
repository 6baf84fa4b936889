"""A run as a file of JSON Lines that only grows: what was asked, what answered, then a line for each row.

    {"decide_run": 1, "labels": {…}, "endpoint": "…", "started": "…", "order_flips": false}
    {"model": {…}}                                  as soon as the first answer names it
    {"id": "t-1", "label": "billing", "answer": {…}, …}

A line is written with one call, so a process that is killed leaves at most one half line, at the end. It is left out
when the file is read and cut off when the run goes on.
"""

from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from decide.evaluation.errors import RunError
from decide.evaluation.labelled import LabelledFile
from decide.evaluation.row import Row
from decide.files import read_bytes
from decision_client import ModelIdentity

T = TypeVar("T", bound=BaseModel)


class Labels(BaseModel):
    """The file of labelled decisions that a run is about."""

    model_config = ConfigDict(frozen=True)

    name: str
    sha256: str
    decisions: int

    @classmethod
    def of(cls, file: LabelledFile) -> Self:
        """Those of ``file``."""
        return cls(name=file.name, sha256=file.sha256, decisions=len(file.decisions))


class Header(BaseModel):
    """What a run is; two sessions of one run agree in everything but when they started and where they asked."""

    model_config = ConfigDict(frozen=True)

    decide_run: Literal[1] = 1
    labels: Labels
    endpoint: str
    started: str
    order_flips: bool


class SavedRun(BaseModel):
    """What a file of a run holds."""

    model_config = ConfigDict(frozen=True)

    header: Header
    model: ModelIdentity | None
    rows: tuple[Row, ...]
    size_bytes: int
    """Without a half line at the end."""

    @property
    def complete(self) -> bool:
        """Whether every decision has its row."""
        return len(self.rows) >= self.header.labels.decisions


def is_run(path: Path) -> bool:
    """Whether the file begins as a saved run does."""
    return read_bytes(path).startswith(b'{"decide_run":')


def load(path: Path) -> SavedRun:
    """The run in ``path``.

    Raises:
        RunError: it is none, or damaged; names the line.
        InputError: it cannot be read.
    """
    content = read_bytes(path)
    whole = content[: content.rfind(b"\n") + 1]
    lines = whole.splitlines()
    if not lines:
        raise RunError(f"{path} is not a saved run: it has no whole line; delete it to begin again")
    header = _parsed(path, 1, lines[0], Header)
    model: ModelIdentity | None = None
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.startswith(b'{"model":'):
            model = _parsed(path, number, line, _Model).model
            continue
        row = _parsed(path, number, line, Row)
        if row.id in rows:
            raise RunError(
                f"{path}, line {number}: the row {row.id!r} is there twice; two processes wrote this file. "
                "Delete it and run again"
            )
        rows[row.id] = row
    return SavedRun.model_construct(header=header, model=model, rows=tuple(rows.values()), size_bytes=len(whole))


class _Model(BaseModel):
    model: ModelIdentity


def _parsed(path: Path, number: int, line: bytes, kind: type[T]) -> T:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the line"
        raise RunError(f"{path}, line {number}: is not what a run holds: {field}: {first['msg']}") from error
