"""Answers of every contract, in one form."""

from typing import Any

import pytest

from decide.answers import outcomes
from tests.client.asked import decision, result


def test_results_have_their_questions_and_descriptions() -> None:
    asked = [decision("a").wire(), decision("b").wire()]
    found = outcomes({"results": [result(one) for one in asked], "timing": {}}, {"decisions": asked})
    assert [one.title for one in found] == ["a: Which queue?", "b: Which queue?"]
    assert [(row.label, row.probability, row.description) for row in found[0].rows] == [
        ("account", 0.75, "Account access."),
        ("billing", 0.25, "Payments."),
    ]
    assert "margin 0.500" in found[0].basis
    assert found[0].result is not None


def test_system_one_s_answers() -> None:
    answers = {
        "refund": {"type": "noul", "noul": 0.25, "x_readout": {"option_mass": 0.5}},
        "team": {"type": "choice", "choice": "b", "probabilities": {"a": 0.2, "b": 0.8}, "confidence": 0.6},
        "urgency": {
            "type": "score",
            "score": 0.4,
            "legend": {"0": "Can wait", "1": "Today"},
            "probabilities": {"0": 0.6, "1": 0.4},
            "confidence": 0.2,
        },
    }
    noul, choice, score = outcomes({"answers": answers}, {})
    assert [(row.label, row.probability) for row in noul.rows] == [("yes", 0.25), ("no", 0.75)]
    assert noul.basis == ("50.0% of the mass on the options",)
    assert [(row.label, row.probability) for row in choice.rows] == [("a", 0.2), ("b", 0.8)]
    assert [row.description for row in score.rows] == ["Can wait", "Today"]
    assert score.basis == ("score 0.400", "confidence 0.200")


def test_openai_s_answers() -> None:
    answers = [
        {"type": "predicate", "name": None, "probability": 0.1},
        {
            "type": "choice",
            "name": "queue",
            "choice": True,
            "confidence": 0.8,
            "probabilities": [{"value": True, "probability": 0.9}, {"value": "x", "probability": 0.1}],
        },
        {
            "type": "score",
            "name": "urgency",
            "score": 0.2,
            "confidence": 0.6,
            "probabilities": [{"value": 0, "label": "low", "probability": 0.8}],
        },
    ]
    predicate, choice, score = outcomes({"answers": answers}, {})
    assert (predicate.title, choice.title, score.title) == ("1", "queue", "urgency")
    assert [row.label for row in choice.rows] == ["true", "x"]
    assert [(row.label, row.description) for row in score.rows] == [("0", "low")]


@pytest.mark.parametrize(
    "answer", [{}, {"answers": 7}, {"answers": [{}]}, {"result": {}}, {"results": []}, {"result": None}, [], 7]
)
def test_what_is_of_no_contract_has_none(answer: Any) -> None:
    assert outcomes(answer, {"decision": decision().wire()}) == []
