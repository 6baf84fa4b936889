"""Files of labelled decisions: three layouts, and everything that can be wrong with a line."""

import json
from pathlib import Path
from typing import Any

import pytest

from decide.errors import InputError
from decide.evaluation import labelled
from decide.evaluation.errors import LabelsError
from decision_adapter.contracts import system_one
from tests.decide.evaluation.rows import OPTIONS, line, write

QUESTIONS: dict[str, dict[str, Any]] = {
    "refund": {"type": "noul", "instructions": "Money back?", "label": "yes"},
    "angry": {"type": "noul", "criteria": {"true": "Shouts.", "false": {"calm": True}}, "label": False},
    "team": {"type": "choice", "criteria": {"billing": "Payments", "": None, "sales": ["a", 1]}, "label": "billing"},
    "urgency": {
        "type": "score",
        "instructions": {"ask": "How urgent?"},
        "criteria": ["Later", "", {"now": 1}],
        "label": 2,
    },
}


def problems(path: Path) -> list[str]:
    with pytest.raises(LabelsError) as raised:
        labelled.read(path)
    return [str(problem) for problem in raised.value.problems]


def test_ours(tmp_path: Path) -> None:
    # given
    path = write(tmp_path / "a.jsonl", [line(1, "billing"), line(2, family="mail", group="g", type="noul", notes=[1])])
    # when
    first, second = labelled.read(path).decisions
    # then
    assert (first.decision.id, first.label, first.names) == ("d-1", "billing", ("account", "billing", "sales"))
    assert (first.family, first.group) == ("choice", "d-1")
    assert (second.family, second.group, second.decision.type) == ("mail", "g", "noul")


def test_system_one_reads_as_the_endpoint_reads_it(tmp_path: Path) -> None:
    # given questions with everything that can be left out left out
    state = {"message": "Ä"}
    path = write(tmp_path / "a.jsonl", [{"id": "r1", "state": state, "questions": QUESTIONS}])
    theirs = {name: {k: v for k, v in question.items() if k != "label"} for name, question in QUESTIONS.items()}
    # when
    ours = labelled.read(path).decisions
    endpoint_s = system_one.ask({"model": "m", "state": state, "questions": theirs}, "m").decisions
    # then
    assert [one.decision.id for one in ours] == [f"r1/{name}" for name in QUESTIONS]
    for mine, other in zip((one.decision for one in ours), endpoint_s, strict=True):
        assert (mine.state, mine.question, mine.type) == (other.state, other.question, other.type)
        assert [vars(option) for option in mine.options] == [option.model_dump() for option in other.options]
    assert [one.label for one in ours] == ["yes", "no", "billing", "2"]
    assert [one.names for one in ours][:2] == [("no", "yes")] * 2
    assert {one.group for one in ours} == {"r1"}
    assert [one.family for one in ours] == list(QUESTIONS)


def test_labels_may_stand_apart_from_the_questions(tmp_path: Path) -> None:
    question = {"type": "noul", "instructions": "Money back?"}
    row = {"id": "r1", "state": "s", "questions": {"refund": question}, "labels": {"refund": "no"}}
    [one] = labelled.read(write(tmp_path / "a.jsonl", [row])).decisions
    assert one.label == "no"


def test_sys1bench_s_lists_of_keys_and_levels(tmp_path: Path) -> None:
    queue = {"type": "choice", "criteria": [{"key": "a", "description": "A."}, {"key": "b"}], "ground_truth": "b"}
    levels = [{"level": 0, "description": "Low."}, {"level": 1, "description": "High."}]
    priority = {"type": "score", "criteria": levels, "ground_truth": 1}
    row = {"task_id": "t", "domain": "d", "state": "s", "questions": {"queue": queue, "priority": priority}}
    first, second = labelled.read(write(tmp_path / "a.jsonl", [row])).decisions
    assert [option.description for option in first.decision.options] == ["a: A.", "b"]
    assert (first.decision.id, first.label) == ("t/queue", "b")
    assert [option.description for option in second.decision.options] == ["Low.", "High."]


@pytest.mark.parametrize(
    ("question", "labels", "expected", "label"),
    [
        ({"type": "noul", "instructions": "?", "criteria": None}, ["no", "yes"], "yes", "yes"),
        ({"type": "choice", "criteria": {"a": None, "b": "B"}}, ["b", "a"], "b", "b"),
        ({"type": "score", "criteria": ["x", "y", "z"]}, [0, 1, 2], 1, "1"),
    ],
)
def test_jevbench(tmp_path: Path, question: Any, labels: list[Any], expected: Any, label: str) -> None:
    row = {"id": "j", "family": "f", "state": "s", "question": question, "labels": labels, "expected": expected}
    [one] = labelled.read(write(tmp_path / "a.jsonl", [row | {"split": "test", "group": "g"}])).decisions
    assert (one.label, one.family, one.group) == (label, "f", "g")


def test_everything_that_is_wrong_is_told_at_once_with_line_and_field(tmp_path: Path) -> None:
    # given
    noul = {"type": "noul", "instructions": "?"}
    lines = [
        line(1),
        line(2, "biling"),
        line(1),
        {key: value for key, value in line(4).items() if key not in ("label", "question")},
        line(5, 7),  # type: ignore[arg-type]
        line(6, type="bool", famly="x"),
        line(7, options=OPTIONS[:1]),
        line(8, options=[*OPTIONS, OPTIONS[0]]),
        line(9, state=" ", options=[{"id": "a", "description": ""}, {"id": 3, "description": "x"}]),
        {"id": "s", "state": "s", "questions": {"a": {**noul, "label": "maybe"}, "b": noul}, "labels": {"c": "no"}},
        {"id": "j", "state": "s", "question": {"type": "score", "criteria": ["x", "y"]}, "expected": "1"},
        {"id": "k", "state": "s", "question": noul, "labels": ["yes", "maybe"], "expected": "yes"},
        [1],
    ]
    path = write(tmp_path / "a.jsonl", lines)
    with path.open("ab") as file:
        file.write(b'{"id": NaN}\n{"id"\n\xff\n')
    # then
    assert problems(path) == [
        "line 2: label: \"biling\" is no option; allowed: 'account', 'billing', 'sales'",
        'line 3: id: "d-1" is on line 1, too; ids must be unique',
        "line 4: question: missing",
        "line 4: label: missing",
        "line 5: label: must be a valid string, got 7",
        "line 6: type: must be 'choice', 'noul' or 'score', got \"bool\"",
        "line 6: famly: unknown field; allowed: id, state, family, group, question, options, type, readout, label, "
        "notes",
        "line 7: options: needs at least 2, got 1",
        'line 8: options: the id "account" is there more than once; ids must be unique',
        'line 9: state: must be a string, an object or an array that is not empty, got " "',
        'line 9: options.0.description: must not be blank, got ""',
        "line 9: options.1.id: must be a valid string, got 3",
        "line 10: labels.c: there is no such question; there are 'a', 'b'",
        "line 10: questions.a.label: \"maybe\" is no answer; must be 'no' or 'yes'",
        "line 10: questions.b.label: missing; must be 'no' or 'yes'",
        'line 11: expected: "1" is no answer; must be an integer from 0 to 1',
        "line 12: labels: [\"yes\", \"maybe\"] are not the answers; allowed: 'no', 'yes'",
        "line 13: is [1]; each line must be one JSON object",
        "line 14: is not JSON: NaN is no number of JSON; each line must be one JSON object",
        "line 15: is not JSON: Expecting ':' delimiter at column 6; each line must be one JSON object",
        "line 16: is not UTF-8: invalid start byte at byte 0; save the file as UTF-8",
    ]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"questions": [1]}, "questions: must be an object, got [1]"),
        ({"questions": {"q": {"type": "box"}}}, "questions.q.type: must be 'noul', 'choice' or 'score'"),
        ({"questions": {"q": 1}}, "questions.q: must be an object, got 1"),
        ({"question": {}}, "question.type: must be 'noul', 'choice' or 'score'"),
        (
            {"questions": {"q": {"type": "noul", "criteria": {"maybe": 1}}}},
            "questions.q.criteria.maybe: unknown field; allowed: true, false",
        ),
        (
            {"questions": {"q": {"type": "choice", "criteria": {"x": None, "y": None}, "label": ["x"]}}},
            "questions.q.label: [\"x\"] is no answer; must be one of 'x', 'y'",
        ),
        ({"question": "q", "options": {}, "label": "a"}, "options: must be an array, got {}"),
        (
            {"question": "q", "options": [OPTIONS[0], {**OPTIONS[1], "name": "x"}], "label": "account"},
            "options.1.name: unknown field; allowed: id, description",
        ),
        (
            {"question": "q", "options": OPTIONS, "label": "account", "readout": {"order": "x"}},
            "readout.order: must be 'sent' or 'average', got \"x\"",
        ),
        (
            {"question": "q", "options": OPTIONS, "label": "account", "readout": {"mode": "x"}},
            "readout.mode: unknown field; allowed: order, preamble",
        ),
    ],
)
def test_what_is_wrong_below_a_field_is_told_with_its_path(tmp_path: Path, fields: Any, told: str) -> None:
    path = write(tmp_path / "a.jsonl", [{"id": "a", "state": "s", **fields}])
    assert problems(path) == [f"line 1: {told}"]


def test_blank_lines_a_byte_order_mark_and_a_missing_last_line_feed_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\ufeff\n" + json.dumps(line(1)) + "\r\n\n" + json.dumps(line(2)), encoding="utf-8")
    assert [one.decision.id for one in labelled.read(path).decisions] == ["d-1", "d-2"]


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_a_decision_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    assert "no decision" in problems(tmp_path / "a.jsonl")[0]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        labelled.read(tmp_path / "a.jsonl")


def test_the_examples_of_the_guides_can_be_read(repository_root: Path) -> None:
    file = labelled.read(repository_root / "docs" / "examples" / "support-decisions.jsonl")
    assert len(file.decisions) == 72
    assert {one.family for one in file.decisions} == {"queue", "refund", "urgency"}
    assert len({one.group for one in file.decisions}) == 24
