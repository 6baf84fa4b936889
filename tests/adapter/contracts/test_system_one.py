"""System One's questions become decisions, and their scores typed answers; numbers by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from decision_adapter import decider, errors
from decision_adapter.contracts import system_one
from decision_adapter.contracts.system_one import ALIAS, ERROR_TYPES, ask, models, refuse
from decision_adapter.decision import MAX_OPTIONS, Decision
from decision_adapter.errors import InvalidRequestError, Problem, UnknownModelError
from decision_adapter.scorer import Scores, Usage
from tests.adapter.byte_engine import ByteTokenizer

MODEL = {"gguf": {"file": "tiny.gguf"}, "calibration": None}


def body(questions: Any, **changes: Any) -> dict[str, Any]:
    return {"model": ALIAS, "state": "s", "questions": questions} | changes


def noul(**fields: Any) -> dict[str, Any]:
    return {"type": "noul", **fields}


def choice(criteria: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "choice", "criteria": criteria, **fields}


def score(criteria: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "score", "criteria": criteria, **fields}


def decision(question: dict[str, Any]) -> Decision:
    [asked] = ask(body({"q": question}), "tiny").decisions
    return asked


def descriptions(question: dict[str, Any]) -> list[str]:
    return [option.description for option in decision(question).options]


def scores(*probabilities: Sequence[float]) -> Scores:
    results: list[dict[str, object]] = [
        {
            "probabilities": list(values),
            "option_logits": [0.0] * len(values),
            "allowed_token_mass": 0.5,
            "temperature": 1.0,
            "prompt_version": "direct-options-v1",
            "prompt_sha256": "0" * 64,
            "model": MODEL,
        }
        for values in probabilities
    ]
    return Scores(results, {"total_seconds": 0.1}, Usage(42))


def answer(question: dict[str, Any], probabilities: Sequence[float]) -> dict[str, Any]:
    """The answer to ``question``, without the fields that are only ours."""
    asked = ask(body({"q": question}), "tiny")
    answers: Any = asked.answer(scores(probabilities))["answers"]
    return {name: value for name, value in answers["q"].items() if not name.startswith("x_")}


def problems(request: dict[str, Any]) -> list[tuple[Any, str]]:
    """Place and sentence of what is wrong, as the caller reads them."""
    with pytest.raises(InvalidRequestError) as raised:
        ask(request, "tiny")
    told, status, _ = refuse(raised.value)
    assert status == 422
    detail: Any = told["detail"]
    return [(problem["loc"], problem["msg"]) for problem in detail]


# --- questions become decisions


def test_questions_share_their_state_and_keep_their_order_and_types() -> None:
    questions = {"b": noul(instructions="?"), "a": choice({"x": None, "y": None}), "": score(["low", "high"])}
    decisions = ask(body(questions, state={"k": [1]}), "tiny").decisions
    assert [item.id for item in decisions] == ["b", "a", '""']
    assert [item.type for item in decisions] == ["noul", "choice", "score"]
    assert all(item.state == {"k": [1]} for item in decisions)


@pytest.mark.parametrize(
    ("instructions", "question"),
    [
        ("  Is it?  ", "  Is it?  "),
        ({"b": "é", "a": [1.5, None]}, '{"b": "é", "a": [1.5, null]}'),
        (["Route it.", "Pick one."], '["Route it.", "Pick one."]'),
        *((nothing, "Which answer fits?") for nothing in (None, "", " \n", {}, [])),
    ],
)
def test_instructions_are_the_question_as_text_or_json(instructions: Any, question: str) -> None:
    assert decision(choice({"x": None, "y": None}, instructions=instructions)).question == question


def test_a_choice_is_read_by_name_and_description() -> None:
    criteria = {"Billing": "Payments.", "Sales": None, "Legal": {"owns": ["ü"]}, "HR": "", "IT": [], "": "x", " ": None}
    assert descriptions(choice(criteria)) == [
        *("Billing: Payments.", "Sales", 'Legal: {"owns": ["ü"]}', "HR", "IT", '"": x', '" "')
    ]


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        (None, ["no", "yes"]),
        ({}, ["no", "yes"]),
        ({"true": "It is.", "false": None}, ["no", "yes: It is."]),
        ({"false": ["It", "is not."], "true": {"a": 1}}, ['no: ["It", "is not."]', 'yes: {"a": 1}']),
    ],
)
def test_a_noul_is_no_or_yes_with_what_counts_as_each(criteria: Any, expected: list[str]) -> None:
    assert descriptions(noul(instructions="?", criteria=criteria)) == expected


def test_a_level_is_read_by_its_description_alone() -> None:
    asked = decision(score(["Calm", {"label": "Angry"}, ""]))
    assert [(option.id, option.description) for option in asked.options] == [
        ("0", "Calm"),
        ("1", '{"label": "Angry"}'),
        ("2", '""'),
    ]


@pytest.mark.parametrize(
    ("question", "listed"),
    [
        (noul(instructions="?", criteria={"true": "It is."}), "(A) no\n(B) yes: It is."),
        (choice({"Billing": "Payments.", "Sales": None}), "(A) Billing: Payments.\n(B) Sales"),
        (score(["Calm", "Angry"]), "(A) 0: Calm\n(B) 1: Angry"),
    ],
)
def test_a_decider_reads_each_name_once_as_it_was_trained(question: dict[str, Any], listed: str) -> None:
    tokenizer = ByteTokenizer()
    rendered = decider.plain(tokenizer).render(decision(question))
    assert tokenizer.text(rendered.ids.tolist()).endswith(f"Options:\n{listed}\nAnswer: (")


def test_a_noul_with_criteria_needs_no_instructions() -> None:
    assert decision(noul(criteria={"true": "A threat."})).question == "Which answer fits?"


def test_the_model_sees_neither_ids_nor_types() -> None:
    # given a question under two names
    named, renamed = (ask(body({name: noul(instructions="?")}), "tiny").decisions[0] for name in ("secret", "other"))
    # then what the model reads of it is the same
    assert named.model_copy(update={"id": "other"}) == renamed
    assert "secret" not in str((named.state, named.question, named.options))


def test_fields_that_are_not_known_are_left_alone() -> None:
    request = body({"q": noul(instructions="?", later=1)}, seed=7, x_trace="t")
    assert len(ask(request, "tiny").decisions) == 1


@pytest.mark.parametrize("count", [2, MAX_OPTIONS])
def test_two_to_255_names_are_accepted(count: int) -> None:
    assert len(decision(choice({f"n{index}": None for index in range(count)})).options) == count


# --- answers


def test_a_noul_is_the_probability_of_yes() -> None:
    assert answer(noul(instructions="?"), [0.25, 0.75]) == {"type": "noul", "noul": 0.75}


def test_a_choice_names_the_likeliest_and_keeps_names_as_they_are() -> None:
    names = ["", " ", "é", "e\u0301", "🙂 기타", "a\nb"]
    assert answer(choice(dict.fromkeys(names)), [0.1, 0.1, 0.1, 0.5, 0.1, 0.1]) == {
        "type": "choice",
        "choice": "e\u0301",
        "probabilities": dict(zip(names, [0.1, 0.1, 0.1, 0.5, 0.1, 0.1], strict=True)),
        "confidence": pytest.approx(0.4),  # (6 · 0.5 - 1) / 5
    }


def test_of_equally_likely_names_the_first_is_chosen() -> None:
    assert answer(choice({"b": None, "a": None}), [0.5, 0.5])["choice"] == "b"


def test_a_score_is_an_expectation_and_its_legend_is_as_sent() -> None:
    assert answer(score(["low", {"label": "middle"}, ["high"]]), [0.0, 0.7, 0.3]) == {
        "type": "score",
        "score": pytest.approx(1.3),  # 0 · 0 + 1 · 0.7 + 2 · 0.3
        "legend": {"0": "low", "1": {"label": "middle"}, "2": ["high"]},
        "probabilities": {"0": 0.0, "1": 0.7, "2": 0.3},
        "confidence": pytest.approx(0.55),
    }


def test_the_answer_names_the_real_model_and_counts_whole_tokens() -> None:
    asked = ask(body({"q": noul(instructions="?")}), "tiny")
    told = asked.answer(scores([0.5, 0.5]))
    assert told["model"] == "tiny"
    assert told["usage"] == {"input_tokens": 42, "output_tokens": 0}
    assert told["x_model"] == MODEL
    assert told["x_timing"] == {"total_seconds": 0.1}
    assert set(told) == {"model", "answers", "usage", "x_model", "x_timing"}


# --- models


def test_the_model_has_its_own_name_and_an_alias() -> None:
    listed: Any = models(MODEL)["models"]
    assert [entry["name"] for entry in listed] == ["tiny", "jev-latest"]
    for entry in listed:
        assert len(ask(body({"q": noul(instructions="?")}, model=entry["name"]), "tiny").decisions) == 1


@pytest.mark.parametrize("name", ["", "jev-1.13.0", "tiny.gguf", "TINY", "x" * 1000])
def test_another_model_is_not_answered_for(name: str) -> None:
    with pytest.raises(UnknownModelError, match=r"is not served here; ask for 'tiny' or 'jev-latest'$") as raised:
        ask(body({"q": noul(instructions="?")}, model=name), "tiny")
    assert len(str(raised.value)) < 150
    told, status, headers = refuse(raised.value)
    assert (status, headers) == (400, {})
    assert told == {"detail": {"error_type": "api_usage_error", "message": str(raised.value)}}


# --- what is wrong


@pytest.mark.parametrize(
    ("request_body", "expected"),
    [
        (
            {},
            [
                (["body", "model"], "is required"),
                (["body", "state"], "is required"),
                (["body", "questions"], "is required"),
            ],
        ),
        (body({}), [(["body", "questions"], "needs at least 1, got 0")]),
        (body([]), [(["body", "questions"], "must be an object, got array")]),
        (body({"q": 1}), [(["body", "questions", "q"], "must be an object, got number")]),
        (body({"q": {}}), [(["body", "questions", "q"], "needs the field 'type'")]),
        (
            body({"q": {"type": "box"}}),
            [(["body", "questions", "q"], "'type' must be one of 'noul', 'choice', 'score', got 'box'")],
        ),
        (
            body({"q": noul(), "r": noul(criteria={"true": ""})}),
            [
                (
                    ["body", "questions", name, "noul"],
                    "needs instructions, or criteria that say what counts as true or false",
                )
                for name in "qr"
            ],
        ),
        (
            body({"q": noul(instructions=1, criteria={"yes": "x"})}),
            [
                (
                    ["body", "questions", "q", "noul", "instructions"],
                    "must be a string, an object or an array, got number",
                ),
                (["body", "questions", "q", "noul", "criteria", "yes"], "is not a field of the contract; remove it"),
            ],
        ),
        (
            body({"q": choice({"x": None})}),
            [(["body", "questions", "q", "choice", "criteria"], "needs at least 2, got 1")],
        ),
        (
            body({"q": choice({f"n{index}": 1 for index in range(256)})}),
            [(["body", "questions", "q", "choice", "criteria"], "allows at most 255, got 256")],
        ),
        (
            body({"q": noul(criteria=dict.fromkeys(map(str, range(256))))}),
            [(["body", "questions", "q", "noul", "criteria"], "allows at most 255, got 256")],
        ),
        (
            body({"q": choice(None)}),
            [(["body", "questions", "q", "choice", "criteria"], "must be an object, got null")],
        ),
        (
            body({"q": choice({"x": True, "y": None})}),
            [
                (
                    ["body", "questions", "q", "choice", "criteria", "x"],
                    "must be a string, an object or an array, got boolean",
                )
            ],
        ),
        (body({"q": score(["x"])}), [(["body", "questions", "q", "score", "criteria"], "needs at least 2, got 1")]),
        (
            body({"q": score(["x"] * 11)}),
            [(["body", "questions", "q", "score", "criteria"], "allows at most 10, got 11")],
        ),
        (
            body({"q": score({"0": "x", "1": "y"})}),
            [(["body", "questions", "q", "score", "criteria"], "must be an array, got object")],
        ),
        (
            body({"q": score(["x", None])}),
            [
                (
                    ["body", "questions", "q", "score", "criteria", 1],
                    "must be a string, an object or an array, got null",
                )
            ],
        ),
        (
            body({"q": noul(instructions="?")}, state=None),
            [(["body", "state"], "must be a string, an object or an array, got null")],
        ),
        (body({"q": noul(instructions="?")}, state={}), [(["body", "state"], "must not be empty")]),
        (
            body({"q": noul(instructions="?")}, assets={"a": {}}),
            [(["body", "assets"], "images cannot be read here; ask about text or JSON")],
        ),
    ],
)
def test_all_that_is_wrong_is_told_with_its_place(
    request_body: dict[str, Any], expected: list[tuple[Any, str]]
) -> None:
    assert problems(request_body) == expected


def test_of_very_many_problems_twenty_are_told() -> None:
    assert len(problems(body({"q": choice({f"n{index}": 1 for index in range(90)})}))) == 20


def test_a_place_is_told_as_it_is_unless_it_is_long_or_no_text() -> None:
    told, _, _ = refuse(InvalidRequestError(Problem(("é", "x" * 500, "\ud800", 3), "s", "k")))
    assert told == {"detail": [{"loc": ["body", "é", "x" * 200, "\\ud800", 3], "msg": "s", "type": "k"}]}


def test_an_error_without_a_place_is_told_of_the_body() -> None:
    told, status, _ = refuse(InvalidRequestError("decision 'q': too many options"))
    expected = {"loc": ["body"], "msg": "decision 'q': too many options", "type": "value_error"}
    assert (told, status) == ({"detail": [expected]}, 422)


def test_every_other_error_has_a_word_and_its_status() -> None:
    assert set(ERROR_TYPES) == set(errors.STATUS) - {InvalidRequestError}
    for kind, word in ERROR_TYPES.items():
        told, status, _ = refuse(kind("reason"))
        message = "scoring failed" if kind is errors.ScoringError else "reason"
        assert (told, status) == ({"detail": {"error_type": word, "message": message}}, errors.STATUS[kind])


def test_who_finds_no_place_is_told_in_both_ways_when_to_come_again() -> None:
    _, status, headers = refuse(errors.BusyError("busy"))
    assert (status, headers) == (503, {"Retry-After": "1", "Retry-After-Ms": "1000"})


def test_who_shows_no_key_is_told_how() -> None:
    _, status, headers = refuse(errors.AuthenticationError("no"))
    assert (status, headers) == (401, {"WWW-Authenticate": "Bearer"})


def test_a_body_is_known_by_its_state() -> None:
    contract = system_one.contract(lambda: MODEL)
    assert contract.own_fields == ("state",)
    assert contract.ask(body({"q": noul(instructions="?")})).decisions[0].state == "s"
