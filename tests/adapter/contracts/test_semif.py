"""The native contract's types; the corpus in tests/requests walks the messages."""

from typing import Any

import pytest

from decision_adapter.contracts.semif import ask
from decision_adapter.decision import MAX_OPTIONS, Decision
from decision_adapter.errors import InvalidRequestError, TooLargeError
from decision_adapter.scorer import Scores


def decision(**changes: Any) -> dict[str, Any]:
    options = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]
    return {"id": "d", "state": "s", "question": "q", "options": options} | changes


def options(count: int) -> list[dict[str, str]]:
    return [{"id": f"o{index}", "description": "text"} for index in range(count)]


SCORES = Scores([{"id": "d"}], {"batch_size": 1})


def test_one_decision_is_answered_by_one_result() -> None:
    asked = ask({"decision": decision()}, max_shared_decisions=8)
    assert asked.decisions == (Decision(**decision()),)
    assert asked.answer(SCORES) == {"result": {"id": "d"}}


def test_a_list_of_one_is_answered_by_a_list_and_its_timing() -> None:
    asked = ask({"decisions": [decision()]}, max_shared_decisions=8)
    assert asked.answer(SCORES) == {"results": [{"id": "d"}], "timing": {"batch_size": 1}}


def test_order_is_kept() -> None:
    asked = ask({"decisions": [decision(id="b"), decision(id="a")]}, max_shared_decisions=8)
    assert [item.id for item in asked.decisions] == ["b", "a"]


@pytest.mark.parametrize("count", [2, MAX_OPTIONS])
def test_two_to_255_options_are_accepted(count: int) -> None:
    assert ask({"decision": decision(options=options(count))}, max_shared_decisions=8)


@pytest.mark.parametrize(
    ("count", "sentence"),
    [(0, "needs at least 2, got 0"), (1, "needs at least 2, got 1"), (256, "allows at most 255, got 256")],
)
def test_other_numbers_of_options_are_refused(count: int, sentence: str) -> None:
    with pytest.raises(InvalidRequestError, match=rf"^decision\.options: {sentence}$"):
        ask({"decision": decision(options=options(count))}, max_shared_decisions=8)


def test_too_many_decisions_are_too_large() -> None:
    items = [decision(id=str(index)) for index in range(3)]
    with pytest.raises(TooLargeError, match=r"^decisions: 3 decisions, at most 2 \(SEMIF_MAX_SHARED_DECISIONS\)"):
        ask({"decisions": items}, max_shared_decisions=2)


@pytest.mark.parametrize("other", [1.0, True, "1"])
def test_states_that_only_look_alike_are_not_shared(other: object) -> None:
    items = [decision(state=[1]), decision(id="e", state=[other])]
    with pytest.raises(InvalidRequestError, match=r"^decisions\[1\]\.state: differs"):
        ask({"decisions": items}, max_shared_decisions=8)


@pytest.mark.parametrize("state", ["text", {"a": None}, [0], "  text  "])
def test_a_state_is_text_or_json_and_kept_as_it_is(state: Any) -> None:
    assert ask({"decision": decision(state=state)}, max_shared_decisions=8).decisions[0].state == state
