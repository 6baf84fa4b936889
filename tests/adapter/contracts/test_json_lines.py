"""Many records in a body, on a clock and a scorer that do as they are told."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from decision_adapter.contracts import json_lines, openai_decisions, semif, system_one
from decision_adapter.contracts.contract import Asked
from decision_adapter.errors import (
    BusyError,
    ClientGoneError,
    DeadlineError,
    LoadingError,
    RequestError,
    ScoringError,
    StoppingError,
    TooLargeError,
)
from decision_adapter.scorer import Scores

CONTRACTS = [
    semif.contract(max_shared_decisions=8),
    system_one.contract(lambda: {"gguf": {"file": "m.gguf"}}),
    openai_decisions.CONTRACT,
]
OPTIONS = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]


def record(name: str) -> str:
    return json.dumps({"decision": {"id": name, "state": "s", "question": "q", "options": OPTIONS}})


OPENAI = json.dumps({"model": "m", "input": "s", "questions": [{"type": "predicate", "instructions": "q"}]})

SYSTEM_ONE = json.dumps({"model": "m", "state": "s", "questions": {"a": {"type": "noul", "instructions": "q"}}})


class Scripted:
    """Scores a record, or raises what the script says for its id, once for each time it says it."""

    def __init__(self, **script: list[Exception]) -> None:
        self.script = script
        self.seen: list[str] = []

    def __call__(self, asked: Asked) -> Scores:
        name = asked.decisions[0].id
        self.seen.append(name)
        if self.script.get(name):
            raise self.script[name].pop(0)
        fields = {"probabilities": [0.5, 0.5], "allowed_token_mass": 1.0, "option_logits": [], "temperature": 1.0}
        fields |= {"prompt_sha256": "", "prompt_version": ""}
        return Scores([{"id": name, "model": {"gguf": {"file": "m.gguf"}}, **fields}], {})


def answer(body: str, score: Callable[[Asked], Scores], seconds_left: Callable[[], float] = lambda: 9.0) -> list[Any]:
    lines = json_lines.answer(body.encode(), CONTRACTS, score, seconds_left)
    assert lines == b"" or lines.endswith(b"\n")
    return [json.loads(line) for line in lines.splitlines()]


def ids(lines: list[Any]) -> list[str]:
    return [line["result"]["id"] for line in lines]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n  \n"])
def test_each_record_gets_a_line_in_order(end: str) -> None:
    assert ids(answer(f"{record('a')}\n{record('b')}\r\n\n{record('c')}{end}", Scripted())) == ["a", "b", "c"]


@pytest.mark.parametrize("body", ["", "\n", " \n\r\n"])
def test_no_record_gets_no_line(body: str) -> None:
    assert answer(body, Scripted()) == []


def test_other_line_breaks_of_unicode_belong_to_a_record() -> None:
    assert ids(answer(record("a").replace('"s"', '"one\u2028two\u0085three"'), Scripted())) == ["a"]


def test_a_bad_line_is_told_in_its_contract_s_shape_with_its_number_and_the_others_are_scored() -> None:
    # given a line that is no JSON, one of no contract, and a bad one of each contract, after a blank one
    bad = ["", "{", '{"x": 1}', '{"decision": 7}', '{"input": 7, "model": "m", "questions": []}', '{"state": 7}']
    lines = answer("\n".join([record("a"), *bad, OPENAI, SYSTEM_ONE, record("b")]), Scripted())
    # then
    assert [line.get("line") for line in lines] == [None, 3, 4, 5, 6, 7, None, None, None]
    assert ids([lines[0], lines[-1]]) == ["a", "b"]
    assert lines[6]["answers"][0]["type"] == "predicate"
    assert lines[7]["answers"]["a"]["type"] == "noul"
    assert lines[1]["error"].startswith("body: not JSON")
    assert lines[2]["error"].startswith("body: has none of the fields by which a contract is known")
    assert lines[3] == {"line": 5, "status": 400, "error": "decision: must be an object, got number"}
    assert (lines[4]["status"], lines[4]["error"]["param"]) == (400, "input")
    assert (lines[5]["status"], lines[5]["detail"][0]["loc"]) == (422, ["body", "model"])


def test_when_all_lines_are_bad_each_is_told() -> None:
    assert [line["line"] for line in answer("1\n2", Scripted())] == [1, 2]


@pytest.mark.parametrize("error", [BusyError("busy"), LoadingError("loading"), StoppingError("stopping")])
def test_what_can_succeed_later_refuses_the_body_while_nothing_is_scored(error: RequestError) -> None:
    with pytest.raises(type(error)):
        answer(f"{{\n{record('a')}\n{record('b')}", Scripted(a=[error]))


def test_once_a_record_is_scored_the_next_waits_for_its_place() -> None:
    score = Scripted(b=[BusyError("busy"), BusyError("busy")])
    assert ids(answer(f"{record('a')}\n{record('b')}", score)) == ["a", "b"]
    assert score.seen == ["a", "b", "b", "b"]


def test_records_that_do_not_fit_into_the_time_are_told_to_come_again() -> None:
    # given time for two records, of which the second is stopped, and no place for a while
    left = iter([1.0, 0.0, 0.0])
    score = Scripted(b=[DeadlineError("aborted")])
    # when
    lines = answer("\n".join(map(record, "abcd")), score, lambda: next(left))
    # then the second and those after it can be sent again
    assert ids(lines[:1]) == ["a"]
    assert [(line["line"], line["status"], line["retryable"]) for line in lines[1:]] == [
        (2, 503, True),
        (3, 503, True),
        (4, 503, True),
    ]
    assert score.seen == ["a", "b"]


def test_records_that_a_stopping_container_does_not_take_are_told_to_come_again() -> None:
    score = Scripted(b=[StoppingError("stopping")], c=[StoppingError("stopping")])
    lines = answer("\n".join(map(record, "abc")), score)
    assert ids(lines[:1]) == ["a"]
    assert lines[1:] == [{"line": number, "status": 503, "error": "stopping", "retryable": True} for number in (2, 3)]
    assert score.seen == ["a", "b", "c"]


def test_a_first_record_that_overruns_by_itself_is_not_to_come_again() -> None:
    score = Scripted(a=[DeadlineError("aborted: shorten it")])
    lines = answer(f"{record('a')}\n{record('b')}", score, lambda: 0.0)
    assert lines[0] == {"line": 1, "status": 504, "error": "aborted: shorten it", "retryable": False}
    assert (lines[1]["line"], lines[1]["retryable"]) == (2, True)


@pytest.mark.parametrize("failure", [ScoringError("secret"), RuntimeError("secret")])
def test_a_failure_of_ours_is_one_record_s_and_its_inside_is_logged_not_told(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    lines = answer(f"{record('a')}\n{record('b')}", Scripted(a=[failure]))
    assert lines[0] == {"line": 1, "status": 500, "error": "scoring failed"}
    assert ids(lines[1:]) == ["b"]
    assert "secret" in caplog.text


def test_a_record_too_large_does_not_stop_the_others() -> None:
    lines = answer(f"{record('a')}\n{record('b')}", Scripted(a=[TooLargeError("request: 9 tokens")]))
    assert lines[0] == {"line": 1, "status": 413, "error": "request: 9 tokens"}
    assert ids(lines[1:]) == ["b"]


def test_when_the_caller_hangs_up_nothing_more_is_scored() -> None:
    score = Scripted(b=[ClientGoneError("gone")])
    with pytest.raises(ClientGoneError):
        answer("\n".join(map(record, "abc")), score)
    assert score.seen == ["a", "b"]


def test_the_number_of_records_is_bounded() -> None:
    lines = "1\n" * json_lines.MAX_RECORDS
    assert len(answer(lines, Scripted())) == json_lines.MAX_RECORDS
    with pytest.raises(TooLargeError, match="more than 10000 records"):
        answer(lines + "1", Scripted())
