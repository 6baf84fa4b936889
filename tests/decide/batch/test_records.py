"""What a line of the input asks."""

import json
from typing import Any

import pytest

from decide.batch.records import BadLine, Record, grouped, records

OPTIONS = [{"id": "a", "description": "A."}, {"id": "b", "description": "B."}]


def line(**fields: Any) -> bytes:
    return json.dumps({"state": "s", "question": "q", "options": OPTIONS, **fields}).encode()


def one(content: bytes) -> Record:
    [found] = records([content])
    assert isinstance(found, Record), found
    return found


def test_a_decision_is_put_into_a_body_and_its_label_kept_out_of_it() -> None:
    record = one(line(id="d", label="a"))
    assert json.loads(record.body) == {"decision": {"id": "d", "state": "s", "question": "q", "options": OPTIONS}}
    assert (record.label, record.decision is not None) == ("a", True)
    assert record.answered({"result": 1}) == {"line": 1, "input": record.digest, "label": "a", "result": 1}


def test_a_decision_without_an_id_gets_the_number_of_its_line() -> None:
    found = list(records([b"\n", line()]))
    assert [json.loads(record.body)["decision"]["id"] for record in found if isinstance(record, Record)] == ["2"]


@pytest.mark.parametrize(
    "body",
    [
        {"decisions": []},
        {"model": "m", "state": "s", "questions": {}},
        {"model": "m", "input": "s", "questions": []},
    ],
)
def test_bodies_of_other_shapes_are_sent_as_they_are(body: dict[str, Any]) -> None:
    record = one(json.dumps(body).encode())
    assert (json.loads(record.body), record.decision) == (body, None)


def test_the_same_line_has_the_same_digest_wherever_it_stands() -> None:
    first, other, again = records([line(id="x"), line(id="y"), b"  " + line(id="x") + b"\r\n"])
    assert first.digest == again.digest != other.digest
    assert (first.number, again.number) == (1, 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "line 2, column 2: is not JSON"),
        (b"\xff", "line 2: is not UTF-8"),
        (b"7", "line 2: must be an object"),
        (b'{"id": "d"}', "state: Field required"),
        (line(id="d", extra=1), "extra: "),
        (b'{"input": NaN}', "line 2: cannot be sent"),
        (b'{"input": "\\ud800"}', "line 2: cannot be sent"),
        (line(options="x"), "options: "),
    ],
)
def test_a_bad_line_says_why_and_stops_nothing(content: bytes, said: str) -> None:
    first, bad, last = records([line(), content, line()])
    assert isinstance(bad, BadLine)
    assert said in bad.sentence
    assert bad.told() == {"line": 2, "input": bad.digest, "status": 400, "error": bad.sentence}
    assert isinstance(first, Record)
    assert isinstance(last, Record)


def test_neighbours_over_one_state_are_asked_together() -> None:
    lines = [line(state=state) for state in ("x", "x", "x", "y", {"a": 1}, {"a": 1}, "x")]
    found = [
        record for record in records([*lines, b'{"decisions": []}', b'{"decisions": []}']) if isinstance(record, Record)
    ]
    assert [[record.number for record in group] for group in grouped(found, 2)] == [
        [1, 2],
        [3],
        [4],
        [5, 6],
        [7],
        [8],
        [9],
    ]
    assert list(grouped([], 2)) == []
