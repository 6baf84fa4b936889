"""OpenAI's Decisions API without a model: what decisions a request becomes, and what scores and errors become."""

import json
from typing import Any

import pytest

from decision_adapter.contracts import system_one
from decision_adapter.contracts.openai_answer import DecisionResponse
from decision_adapter.contracts.openai_decisions import ask, refuse
from decision_adapter.contracts.openai_request import DecisionRequest
from decision_adapter.decision import Decision
from decision_adapter.errors import (
    BusyError,
    DeadlineError,
    InvalidRequestError,
    Problem,
    RequestError,
    ScoringError,
    TooLargeError,
    UnsupportedContentError,
)
from decision_adapter.scorer import Scores, Usage

PREDICATE = {"type": "predicate", "instructions": "The customer is angry."}
QUEUES = [{"value": "account", "description": "Passwords."}, {"value": "billing"}]
CHOICE = {"type": "choice", "name": "queue", "instructions": "Which queue?", "choices": QUEUES}
LEVELS = [{"label": "low"}, {"label": "medium", "description": "Some wait."}, {"label": "high"}]
SCORE = {"type": "score", "name": "severity", "instructions": "How severe is it?", "levels": LEVELS}


def body(*questions: dict[str, Any], **fields: Any) -> dict[str, object]:
    return {"model": "any", "input": "It never arrived.", "questions": list(questions or [PREDICATE])} | fields


def decisions(request: dict[str, object]) -> tuple[Decision, ...]:
    return ask(request).decisions


def shown(decision: Decision) -> list[str]:
    return [option.description for option in decision.options]


def message(request: dict[str, object]) -> str:
    with pytest.raises(InvalidRequestError) as raised:
        ask(request)
    return str(raised.value)


def result(*probabilities: float) -> dict[str, object]:
    identity = {"gguf": {"file": "m.gguf", "sha256": "00"}, "threads": 1}
    fields = {"allowed_token_mass": 0.5, "option_logits": [1.0], "temperature": 2.0, "prompt_version": "p"}
    return {"probabilities": list(probabilities), **fields, "prompt_sha256": "ab", "model": identity}


def test_each_question_becomes_a_decision_about_the_input() -> None:
    predicate, choice, score = decisions(body(PREDICATE, CHOICE, SCORE))
    assert {one.state for one in (predicate, choice, score)} == {"It never arrived."}
    assert [one.question for one in (predicate, choice, score)] == [
        "The customer is angry.",
        "Which queue?",
        "How severe is it?",
    ]
    assert [one.type for one in (predicate, choice, score)] == ["noul", "choice", "score"]
    assert shown(predicate) == ["no", "yes"]
    assert shown(choice) == ["account: Passwords.", "billing"]
    assert shown(score) == ["low", "medium: Some wait.", "high"]


def test_an_option_reads_the_same_where_a_prompt_profile_shows_its_id_too() -> None:
    for decision in decisions(body(PREDICATE, CHOICE)):
        assert [option.id for option in decision.options] == shown(decision)


def test_questions_without_criteria_read_as_system_one_s() -> None:
    # given the same questions in both contracts
    questions = {
        "a": {"type": "noul", "instructions": "The customer is angry."},
        "b": {"type": "choice", "instructions": "Which queue?", "criteria": {"account": "Passwords.", "billing": None}},
        "c": {"type": "score", "instructions": "How severe is it?", "criteria": ["low", "high"]},
    }
    one = {"model": "jev-latest", "state": "It never arrived.", "questions": questions}
    levels = [{"label": "low"}, {"label": "high"}]
    # then the decisions are the same but for their names
    theirs = system_one.ask(one, "m").decisions
    ours = decisions(body(PREDICATE, CHOICE, SCORE | {"levels": levels}))
    assert [decision.model_dump(exclude={"id"}) for decision in ours] == [
        decision.model_dump(exclude={"id"}) for decision in theirs
    ]


def test_messages_calls_and_outputs_become_the_state() -> None:
    # given one of each kind, with everything that is ignored
    text = {"type": "input_text", "text": "Look:", "prompt_cache_breakpoint": {"mode": "explicit"}}
    call = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"id": 7}', "id": "x"}
    custom = {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "select 1", "namespace": "db"}
    conversation = [
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": [{"type": "input_text", "text": "Be short."}], "type": "message"},
        {"role": "user", "content": [text, {"type": "input_json", "data": {"id": 7}}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}], "phase": "commentary"},
        call | {"status": "completed"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "found"}]},
        custom,
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "1"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]},
    ]
    # then the model reads what was said and done, and nothing else
    [decision] = decisions(body(input=conversation))
    assert decision.state == [
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": ["Look:", {"id": 7}]},
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"id": 7}'},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "select 1", "namespace": "db"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "1"},
        {"role": "assistant", "content": "I cannot."},
    ]


def test_parts_of_instructions_stand_on_a_line_each() -> None:
    parts = [{"type": "input_text", "text": "Does it match?"}, {"type": "input_json", "data": [{"café": True}]}]
    [decision] = decisions(body(PREDICATE | {"instructions": parts}))
    assert decision.question == 'Does it match?\n[{"café": true}]'


def test_a_string_and_a_boolean_of_the_same_text_are_different_choices() -> None:
    choice = CHOICE | {"choices": [{"value": "true"}, {"value": True}, {"value": False}]}
    asked = ask(body(choice))
    assert shown(asked.decisions[0]) == ["true", "true", "false"]
    [answer] = dict(asked.answer(Scores([result(0.2, 0.5, 0.3)], {})))["answers"]  # type: ignore[misc]
    assert answer["choice"] is True
    assert [one["value"] for one in answer["probabilities"]] == ["true", True, False]


def test_what_only_openai_can_use_is_accepted_and_changes_nothing() -> None:
    extra = {"prompt_cache_key": "k", "prompt_cache_options": {"ttl": "30m"}, "safety_identifier": "u"}
    assert decisions(body(**extra)) == decisions(body())


@pytest.mark.parametrize("count", [1, 400])
def test_one_to_400_questions_are_accepted(count: int) -> None:
    assert len(decisions(body(*[PREDICATE] * count))) == count


@pytest.mark.parametrize(
    ("request_body", "expected"),
    [
        (body(questions=[]), "questions: needs at least 1, got 0"),
        (body(*[PREDICATE] * 401), "questions: allows at most 400, got 401"),
        (body(CHOICE | {"choices": QUEUES[:1]}), "questions[0].choices: needs at least 2, got 1"),
        (body(SCORE | {"levels": LEVELS * 4}), "questions[0].levels: allows at most 10, got 12"),
        (body(PREDICATE, SCORE | {"levels": [{}, {}]}), "questions[1].levels[0].label: is required; questions[1]."),
        (body(PREDICATE | {"predicate": 1}), "questions[0].predicate: is not a field of the contract; remove it"),
        # fields that no contract has, of the names by which types are told apart
        (
            body(CHOICE | {"choice": "", "choices": [{"value": 7}, {"value": "b"}]}),
            "questions[0].choices[0].value: must",
        ),
        (body(SCORE | {"score": 7, "levels": [{"label": 7}, {"label": "b"}]}), "questions[0].levels[0].label: must be"),
        (
            body(input=[{"role": "user", "message": 7, "content": [{"type": "input_text", "text": 7}]}]),
            "input[0].content[0].text: must be a string, got number; input[0].message: is not a field",
        ),
        (
            body(input=[{"role": "user", "content": "", "text": 7, "array": 7}]),
            "input[0].text: is not a field of the contract; remove it; input[0].array: is not",
        ),
        (body(temperature=1), "temperature: is not a field of the contract; remove it"),
        (body(input=7), "input: must be a string or an array"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_in_the_body(request_body: dict[str, object], expected: str) -> None:
    assert message(request_body).startswith(expected)


def test_a_body_of_nothing_but_mistakes_does_not_become_as_many_errors() -> None:
    with pytest.raises(InvalidRequestError) as raised:
        ask(body(input=[1] * 100_000))
    assert len(raised.value.problems) == 1


def test_answers_are_those_of_the_formulas_in_the_order_of_the_questions() -> None:
    # given
    asked = ask(body(PREDICATE, CHOICE, SCORE))
    scores = Scores(
        [result(0.1, 0.9), result(0.25, 0.75), result(0.1, 0.3, 0.6)], {"total_seconds": 0.5}, Usage(120, 40)
    )
    # when
    answer = asked.answer(scores)
    # then
    readout = {"option_mass": 0.5, "option_logits": [1.0], "temperature": 2.0, "prompt_profile": "p"}
    extra = {"x_readout": readout | {"prompt_sha256": "ab"}}
    assert answer == {
        "model": "m",
        "answers": [
            {"type": "predicate", "name": None, "probability": 0.9} | extra,
            {
                "type": "choice",
                "name": "queue",
                "choice": "billing",
                "probabilities": [
                    {"value": "account", "probability": 0.25},
                    {"value": "billing", "probability": 0.75},
                ],
                "confidence": 0.5,
            }
            | extra,
            {
                "type": "score",
                "name": "severity",
                "score": pytest.approx(1.5),
                "probabilities": [
                    {"value": 0, "label": "low", "probability": 0.1},
                    {"value": 1, "label": "medium", "probability": 0.3},
                    {"value": 2, "label": "high", "probability": 0.6},
                ],
                "confidence": pytest.approx(0.25),
            }
            | extra,
        ],
        "usage": {
            "input_tokens": 120,
            "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 120,
        },
        "x_model": {"gguf": {"file": "m.gguf", "sha256": "00"}, "threads": 1},
        "x_timing": {"total_seconds": 0.5},
    }


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (TooLargeError("request: 9 tokens"), 400, "invalid_request_error", "too_large"),
        (UnsupportedContentError("Content-Type: x"), 400, "invalid_request_error", "unsupported_content"),
        (BusyError("busy"), 503, "server_error", "busy"),
        (ScoringError("secret"), 500, "server_error", "scoring"),
    ],
)
def test_errors_have_a_status_that_the_client_has_a_class_for(
    error: RequestError, status: int, kind: str, code: str
) -> None:
    told, told_status, _ = refuse(error)
    detail: dict[str, object] = told["error"]  # type: ignore[assignment]
    assert (told_status, detail["type"], detail["param"], detail["code"]) == (status, kind, None, code)
    assert "secret" not in json.dumps(told)


def test_an_invalid_request_names_its_first_field() -> None:
    error = InvalidRequestError(Problem(("input", 0, "role"), "must be: x"), Problem(("model",), "is required"))
    told, status, _ = refuse(error)
    assert (status, told) == (
        400,
        {
            "error": {
                "message": "input[0].role: must be: x; model: is required",
                "type": "invalid_request_error",
                "param": "input[0].role",
                "code": "invalid_request",
            }
        },
    )


def test_what_can_succeed_later_says_when_and_what_cannot_says_so() -> None:
    assert refuse(BusyError("busy"))[2] == {"Retry-After": "1"}
    assert refuse(DeadlineError("aborted"))[1:] == (504, {"x-should-retry": "false"})


def test_the_types_describe_themselves() -> None:
    questions = DecisionRequest.model_json_schema()["properties"]["questions"]
    assert (questions["minItems"], questions["maxItems"]) == (1, 400)
    answers = DecisionResponse.model_json_schema()["properties"]["answers"]
    assert set(answers["items"]["discriminator"]["mapping"]) == {"predicate", "choice", "score"}
