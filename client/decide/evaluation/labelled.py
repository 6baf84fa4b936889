"""Decisions with the answers that people gave, from a file of JSON Lines in any of three layouts.

ours        a decision with `label`, the id of an option; optional `family`, `group`, `notes`
System One  `id`, `state`, `questions`; each question has its `label` beside it, or the row has `labels` by name
JevBench    `id`, `family`, `state`, `question`, `labels`, `expected`
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from decide.evaluation.errors import LabelsError, Problem
from decide.evaluation.system_one import Question
from decide.files import read_bytes
from decision_client import Decision, Option, Readout

SHOWN_CHARACTERS = 60
"""Of a value in a message."""

Named = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]


@dataclass(frozen=True)
class LabelledDecision:
    """A decision and the answer that is right."""

    decision: Decision
    names: tuple[str, ...]
    """The options as their author calls them, in the decision's order."""
    label: str
    """One of the names."""
    family: str
    """What it is counted with."""
    group: str
    """Rows of one group are variants of one case: they are drawn and held out together."""


@dataclass(frozen=True)
class LabelledFile:
    """All decisions of a file, in its order; ids are unique."""

    name: str
    sha256: str
    decisions: tuple[LabelledDecision, ...]


def _state(value: object) -> object:
    if not isinstance(value, str | dict | list) or not value or (isinstance(value, str) and not value.strip()):
        raise ValueError("must be a string, an object or an array that is not empty")
    return value


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    id: Named
    state: Annotated[Any, BeforeValidator(_state)]
    family: Named | None = None
    group: Named | None = None


class _OwnOption(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    id: Named
    description: Named


class _OwnLine(_Line):
    model_config = ConfigDict(extra="forbid")

    question: Named
    options: list[_OwnOption] = Field(min_length=2, max_length=255)
    type: Literal["choice", "noul", "score"] = "choice"
    readout: Readout = Readout()
    label: str
    notes: Any = None


class _SystemOneLine(_Line):
    questions: dict[str, Question] = Field(min_length=1)


class _JevBenchLine(_Line):
    question: Question


_KNOWN = {"options": tuple(_OwnOption.model_fields), "readout": tuple(Readout.model_fields)}
"""What may stand below a field."""
_CRITERIA = ("true", "false")


class _Wrong(Exception):  # noqa: N818  # never leaves this module
    """A line that cannot be used: the fields with what they have to be."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__()
        self.problems = problems


def read(path: Path) -> LabelledFile:
    """The labelled decisions in ``path``.

    Raises:
        LabelsError: lines cannot be used; names all that is wrong with all of them.
        InputError: the file cannot be read.
    """
    content = read_bytes(path)
    decisions: list[LabelledDecision] = []
    problems: list[Problem] = []
    first_line: dict[str, int] = {}
    for number, line in _lines(content):
        try:
            read_here = _decisions(line)
        except _Wrong as wrong:
            problems += [Problem(number, field, sentence) for field, sentence in wrong.problems]
            continue
        for one in read_here:
            seen = first_line.setdefault(one.decision.id, number)
            if seen != number:
                problems.append(
                    Problem(number, "id", f"{_shown(one.decision.id)} is on line {seen}, too; ids must be unique")
                )
        decisions += read_here
    if not decisions and not problems:
        problems = [Problem(1, "", "no decision; each line must be a JSON object, see docs/evaluate.md")]
    if problems:
        raise LabelsError(path.name, problems)
    return LabelledFile(path.name, hashlib.sha256(content).hexdigest(), tuple(decisions))


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield number, line


def _decisions(line: bytes) -> list[LabelledDecision]:
    row = _object(line)
    try:
        if "questions" in row:
            return _of_system_one(row)
        if isinstance(row.get("question"), dict):
            return [_of_jevbench(row)]
        return [_of_own(row)]
    except ValidationError as error:
        raise _Wrong(*map(_told, error.errors(include_url=False))) from error


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise _Wrong(("", f"is not UTF-8: {error.reason} at byte {error.start}; save the file as UTF-8")) from error
    except json.JSONDecodeError as error:
        told = f"is not JSON: {error.msg} at column {error.colno}; each line must be one JSON object"
        raise _Wrong(("", told)) from error
    except (ValueError, RecursionError) as error:
        raise _Wrong(("", f"is not JSON: {error}; each line must be one JSON object")) from error
    if not isinstance(row, dict):
        raise _Wrong(("", f"is {_shown(row)}; each line must be one JSON object"))
    return row


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _of_own(row: dict[str, Any]) -> LabelledDecision:
    line = _OwnLine.model_validate(row)
    names = tuple(option.id for option in line.options)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _Wrong(("options", f"the id {_shown(twice[0])} is there more than once; ids must be unique"))
    if line.label not in names:
        raise _Wrong(("label", f"{_shown(line.label)} is no option; allowed: {', '.join(map(repr, names))}"))
    decision = Decision(
        id=line.id,
        state=line.state,
        question=line.question,
        options=[Option(option.id, option.description) for option in line.options],
        type=line.type,
        readout=line.readout,
    )
    return LabelledDecision(decision, names, line.label, line.family or line.type, line.group or line.id)


def _of_system_one(row: dict[str, Any]) -> list[LabelledDecision]:
    line = _SystemOneLine.model_validate({"id": row.get("task_id"), **row} if "task_id" in row else row)
    labels = row.get("labels", {})
    if not isinstance(labels, dict):
        raise _Wrong(("labels", f"must be an object with a label for each question, got {_shown(labels)}"))
    unknown = [
        (f"labels.{name}", f"there is no such question; there are {', '.join(map(repr, line.questions))}")
        for name in labels
        if name not in line.questions
    ]
    decisions, problems = list[LabelledDecision](), unknown
    for name, question in line.questions.items():
        beside = row["questions"][name]
        given = labels.get(name, beside.get("label", beside.get("ground_truth")))
        try:
            label = _label(question, given, f"questions.{name}.label")
            decisions.append(_asked(line, f"{line.id}/{name}", question, label, line.family or name))
        except _Wrong as wrong:
            problems += wrong.problems
    if problems:
        raise _Wrong(*problems)
    return decisions


def _of_jevbench(row: dict[str, Any]) -> LabelledDecision:
    line = _JevBenchLine.model_validate(row)
    names = line.question.names()
    declared = row.get("labels")
    if declared is not None and (not isinstance(declared, list) or sorted(map(str, declared)) != sorted(names)):
        raise _Wrong(("labels", f"{_shown(declared)} are not the answers; allowed: {', '.join(map(repr, names))}"))
    label = _label(line.question, row.get("expected"), "expected")
    return _asked(line, line.id, line.question, label, line.family or line.question.type)


def _asked(line: _Line, decision_id: str, question: Question, label: str, family: str) -> LabelledDecision:
    decision = Decision(
        id=decision_id,
        state=line.state,
        question=question.asked(),
        options=question.options(),
        type=question.type,
    )
    return LabelledDecision(decision, question.names(), label, family, line.group or line.id)


def _label(question: Question, value: object, field: str) -> str:
    label = question.label(value)
    if label is None:
        got = "missing" if value is None else f"{_shown(value)} is no answer"
        raise _Wrong((field, f"{got}; must be {question.allowed()}"))
    return label


def _told(error: Any) -> tuple[str, str]:
    """A problem that pydantic found: the field's path, and a sentence."""
    place = [step for step in error["loc"] if step not in ("noul", "choice", "score") or error["loc"][-1] == step]
    seen = f", got {_shown(error['input'])}"
    match error["type"]:
        case "missing":
            sentence = "missing"
        case "extra_forbidden":
            known = _OwnLine.model_fields if len(place) == 1 else _KNOWN.get(place[0], _CRITERIA)
            sentence = f"unknown field; allowed: {', '.join(known)}"
        case "union_tag_invalid" | "union_tag_not_found":
            place, sentence = [*place, "type"], "must be 'noul', 'choice' or 'score'"
        case "list_type":
            sentence = f"must be an array{seen}"
        case "dict_type" | "model_type" | "model_attributes_type":
            sentence = f"must be an object{seen}"
        case "too_short" | "too_long":
            limits = error["ctx"]
            limit = f"at least {limits['min_length']}" if "min_length" in limits else f"at most {limits['max_length']}"
            sentence = f"needs {limit}, got {limits['actual_length']}"
        case "string_pattern_mismatch" | "string_too_short":
            sentence = f"must not be blank{seen}"
        case _:
            sentence = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be") + seen
    return ".".join(map(str, place)), sentence


def _shown(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}…"
