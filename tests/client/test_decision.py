"""What can be asked, and what is sent of it."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from decision_client import Decision, Option, Readout
from tests.client.asked import OPTIONS, decision


def test_a_decision_is_sent_as_the_contract_has_it_without_what_has_its_default() -> None:
    assert decision("route", {"mail": "never arrived"}).wire() == {
        "id": "route",
        "state": {"mail": "never arrived"},
        "question": "Which queue?",
        "options": (
            {"id": "account", "description": "Account access."},
            {"id": "billing", "description": "Payments."},
        ),
    }


def test_what_differs_from_a_default_is_sent() -> None:
    sent = decision(type="noul", readout=Readout(order="average")).wire()
    assert (sent["type"], sent["readout"]) == ("noul", {"order": "average"})


def test_a_row_of_a_file_is_a_decision() -> None:
    row = json.loads(json.dumps(decision("row").wire()))
    assert Decision.model_validate(row) == decision("row")


def test_a_decision_cannot_be_changed() -> None:
    asked = decision(options=list(OPTIONS))
    assert asked.options == OPTIONS
    with pytest.raises(ValidationError, match="frozen"):
        asked.id = "other"
    with pytest.raises(AttributeError):
        asked.options[0].id = "other"  # type: ignore[misc]  # what is under test


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"state": 7}, "state\n  must be a string, an object or an array"),
        ({"state": {"score": float("nan")}}, "state\n  cannot be written as JSON: Out of range float"),
        ({"state": [object()]}, "state\n  cannot be written as JSON: Object of type object"),
        ({"state": ["half \ud800"]}, "state\n  cannot be written as JSON: .* surrogates"),
        ({"question": "half \ud800"}, "question\n  has half a surrogate pair"),
        ({"question": None}, "question\n  Input should be a valid string"),
        ({"type": "guess"}, "type\n  Input should be 'choice', 'noul' or 'score'"),
        ({"label": "account"}, "label\n  Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_field(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        decision(**fields)


def test_an_option_is_two_texts() -> None:
    with pytest.raises(ValidationError, match="valid string"):
        Option("account", 7)  # type: ignore[arg-type]  # what is under test
