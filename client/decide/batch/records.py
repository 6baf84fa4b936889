"""The lines of the input: what each asks, or why it cannot be asked.

A line is a request of any contract, as a body of its own, or a decision without the object around it. A `label` beside
a decision's fields is not sent: it comes back beside the answer.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from decide.errors import InputError
from decide.files import json_of, text_of
from decision_client import Decision
from decision_client.decision import as_json

BODIES = ("decision", "decisions", "questions", "input")
"""A field of these makes a line a body of its own."""
_DIGEST_CHARACTERS = 16


@dataclass(frozen=True)
class Record:
    """One request, with its place in the input."""

    number: int
    """Of its line, from 1."""
    digest: str
    """Of the line: an answer belongs to it as long as the line is the same."""
    body: bytes
    """What is sent; one line."""
    decision: Decision | None = None
    """The one that the body asks for, where it asks for one in SemIf's contract."""
    label: Any = None

    def answered(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The line of the output for an ``answer``."""
        label = {} if self.label is None else {"label": self.label}
        return {"line": self.number, "input": self.digest, **label, **answer}

    def failed(self, sentence: str, status: int | None) -> dict[str, Any]:
        """The line of the output when there is no answer."""
        return {"line": self.number, "input": self.digest, "status": status, "error": sentence}


@dataclass(frozen=True)
class BadLine:
    """A line that asks for nothing."""

    number: int
    digest: str
    sentence: str

    def told(self) -> dict[str, Any]:
        """The line of the output for it."""
        return {"line": self.number, "input": self.digest, "status": 400, "error": self.sentence}


def records(lines: Iterable[bytes]) -> Iterator[Record | BadLine]:
    """What each line asks; blank lines are counted, but are no records."""
    for number, line in enumerate(lines, start=1):
        content = line.strip()
        if not content:
            continue
        digest = digest_of(content)
        try:
            yield _record(number, digest, content)
        except InputError as error:
            yield BadLine(number, digest, str(error))


def digest_of(content: bytes) -> str:
    """What tells a line from others."""
    return hashlib.sha256(content).hexdigest()[:_DIGEST_CHARACTERS]


def grouped(found: Iterable[Record], most: int) -> Iterator[list[Record]]:
    """Records that follow each other and share a state, up to ``most`` together; the others alone."""
    group: list[Record] = []
    shared: str | None = None
    for record in found:
        state = None if record.decision is None else as_json(record.decision.state)
        if group and (state is None or state != shared or len(group) == most):
            yield group
            group = []
        group.append(record)
        shared = state
    if group:
        yield group


def _record(number: int, digest: str, content: bytes) -> Record:
    name = f"line {number}"
    value = json_of(text_of(content, name), name)
    if not isinstance(value, dict):
        raise InputError(f"{name}: must be an object: a decision, or a request of any contract")
    label = None
    if not any(field in value for field in BODIES):
        label = value.pop("label", None)
        value = {"decision": {"id": str(number), **value}}
    try:
        body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise InputError(f"{name}: cannot be sent: {error}") from error
    decision = _decision(value["decision"], name) if list(value) == ["decision"] else None
    return Record(number, digest, body, decision, label)


def _decision(fields: object, name: str) -> Decision:
    try:
        return Decision.model_validate(fields)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)[:3])
        raise InputError(f"{name}: {'; '.join(problems)}") from error
