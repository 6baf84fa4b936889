"""Asking labelled decisions: one after the other, each saved, in other orders where that is wanted."""

import re
from pathlib import Path
from typing import Any

import pytest

from decide.evaluation import labelled
from decide.evaluation.asking import ask, orders
from decide.evaluation.row import Row
from decide.evaluation.run_file import RunFile
from decide.evaluation.saved_run import load
from decision_client import BusyError, Decision, Option, Readout, TooLargeError
from decision_client.testing import Answer, FakeDecisionClient, result_of
from tests.decide.evaluation.rows import header, line, write

FAVOURS_ACCOUNT = {"account": 0.6, "billing": 0.3, "sales": 0.1}


def decisions(tmp_path: Path, *lines: dict[str, Any]) -> Any:
    return labelled.read(write(tmp_path / "labelled.jsonl", list(lines))).decisions


def asked(tmp_path: Path, client: FakeDecisionClient, *lines: dict[str, Any], flips: bool = False) -> tuple[Row, ...]:
    path = tmp_path / "a.run.jsonl"
    seen: list[Row] = []
    with RunFile(path, header(order_flips=flips)) as run:
        ask(client, decisions(tmp_path, *lines), run, order_flips=flips, on_row=seen.append)
    assert tuple(seen) == load(path).rows[-len(seen) :]
    return load(path).rows


def test_each_decision_becomes_a_row(tmp_path: Path) -> None:
    client = FakeDecisionClient({"d-1": FAVOURS_ACCOUNT, "d-2": "billing"})
    first, second = asked(tmp_path, client, line(1), line(2, state={"a": [1]}, family="f"))
    assert (first.choice, first.correct, first.first) == ("account", True, True)
    assert first.answer is not None
    assert first.answer.probabilities == (0.6, 0.3, 0.1)
    assert (second.choice, second.correct, second.first) == ("billing", False, False)
    assert (second.state, second.family) == ('{"a": [1]}', "f")
    assert first.seconds > 0


def test_an_error_of_the_decision_s_own_is_a_row_and_wrong(tmp_path: Path) -> None:
    client = FakeDecisionClient({"d-1": TooLargeError("too many tokens"), "d-2": "account"})
    first, second = asked(tmp_path, client, line(1), line(2))
    assert first.failure is not None
    assert (first.failure.kind, first.failure.message, first.correct) == ("TooLargeError", "too many tokens", False)
    assert second.correct


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"probabilities": (0.5, 0.5, 0.5)}, r"sum to 1, and are \[0.5, 0.5, 0.5\]"),
        ({"probabilities": (1.5, -0.5, 0.0)}, "0 or more"),
        ({"probabilities": (float("nan"), 0.5, 0.5)}, "not finite"),
        ({"option_logits": (1.0, float("-inf"), 0.0)}, "not finite"),
        ({"option_logits": (1.0,)}, "1 option_logits and 3 probabilities"),
    ],
)
def test_an_answer_that_is_no_distribution_is_invalid_and_wrong(tmp_path: Path, wrong: Any, said: str) -> None:
    [labelled_one] = decisions(tmp_path, line(1))
    told = result_of(labelled_one.decision, FAVOURS_ACCOUNT).model_copy(update=wrong)
    (row,) = asked(tmp_path, FakeDecisionClient({"d-1": told}), line(1))
    assert row.failure is not None
    assert re.search(said, row.failure.message)
    assert not row.correct


def test_an_error_that_the_next_would_meet_too_ends_the_run_which_goes_on_later(tmp_path: Path) -> None:
    # given
    lines = (line(1), line(2), line(3))
    with pytest.raises(BusyError):
        asked(tmp_path, FakeDecisionClient({"d-1": "account", "d-2": BusyError("busy")}), *lines)
    # when
    again = FakeDecisionClient({"d-2": "account", "d-3": "sales"})
    rows = asked(tmp_path, again, *lines)
    # then
    assert [decision.id for decision in again.asked] == ["d-2", "d-3"]
    assert [(row.id, row.first) for row in rows] == [("d-1", True), ("d-2", True), ("d-3", False)]


def test_another_order_shows_whether_the_choice_depends_on_it(tmp_path: Path) -> None:
    # given a model that likes the first place, and another that reads
    def first_place(decision: Decision) -> Answer:
        return {option.id: 0.8 if place == 0 else 0.1 for place, option in enumerate(decision.options)}

    liking = FakeDecisionClient(first_place)
    (row,) = asked(tmp_path, liking, line(1), flips=True)
    # then it is asked in three orders, and answers otherwise in each
    ids = [[option.id for option in decision.options] for decision in liking.asked]
    assert ids == [["account", "billing", "sales"], ["sales", "billing", "account"], ["billing", "sales", "account"]]
    assert [other.probabilities for other in row.reordered] == [(0.1, 0.1, 0.8), (0.1, 0.8, 0.1)]
    assert row.flipped
    (tmp_path / "a.run.jsonl").unlink()
    (row,) = asked(tmp_path, FakeDecisionClient({"d-1": FAVOURS_ACCOUNT}), line(1), flips=True)
    assert not row.flipped
    assert [other.probabilities for other in row.reordered] == [(0.6, 0.3, 0.1)] * 2


def test_the_orders() -> None:
    options = [Option("a", "A."), Option("b", "B."), Option("c", "C.")]
    decision = Decision(id="d", state="s", question="q", options=options)
    assert orders(decision) == [(2, 1, 0), (1, 2, 0)]
    assert orders(decision.model_copy(update={"type": "score"})) == [(2, 1, 0)]
    assert orders(decision.model_copy(update={"options": tuple(options[:2])})) == [(1, 0)]
    assert orders(decision.model_copy(update={"readout": Readout(order="average")})) == []
