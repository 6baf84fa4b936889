"""OpenAI's Decisions API: predicates, choices and scores about one input.

How decisions are made of a request, for a model that reads evidence, a criterion and options:

    state     `input` as it is when it is a text; else an array of its messages, calls and outputs (`_evidence`)
    question  `instructions`; several parts stand on a line each
    options   a predicate's are no and yes, as System One's noul; of choices and levels, `value: description`, or the
              value alone
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from decision_adapter import errors
from decision_adapter.confidence import choice_confidence, score_confidence
from decision_adapter.contracts import openai_answer as answers
from decision_adapter.contracts.answer_readout import readout_of
from decision_adapter.contracts.contract import Asked, Contract, ErrorAnswer
from decision_adapter.contracts.model_name import model_name
from decision_adapter.contracts.openai_request import (
    Choice,
    CustomToolCall,
    CustomToolCallOutput,
    DecisionRequest,
    FunctionCall,
    FunctionCallOutput,
    InputJson,
    InputText,
    Message,
    OutputRefusal,
    OutputText,
    Predicate,
    Score,
)
from decision_adapter.decision import Decision, DecisionType, JsonState, Option
from decision_adapter.errors import DeadlineError, InvalidRequestError, Problem, RequestError
from decision_adapter.scorer import Scores
from decision_adapter.validation import validate

OWN_FIELDS = ("input",)

UNIONS = ("input", "content", "output", "instructions", "questions")
"""Fields whose values, or the items of whose arrays, may be of several types."""

Part = InputText | InputJson | OutputText | OutputRefusal
Item = Message | FunctionCall | FunctionCallOutput | CustomToolCall | CustomToolCallOutput
Question = Predicate | Choice | Score


def ask(body: dict[str, object]) -> Asked:
    """What ``body`` asks for: a decision for each question, over the input.

    Raises:
        InvalidRequestError: the contract is broken; the message starts with the field's path.
    """
    try:
        request = validate(DecisionRequest, body)
    except InvalidRequestError as error:
        raise InvalidRequestError(*map(_in_body, error.problems)) from error
    state = request.input if isinstance(request.input, str) else _conversation(request.input)
    decisions = tuple(
        _decision(question, state, f"questions[{index}]") for index, question in enumerate(request.questions)
    )
    return Asked(decisions, lambda scores: _response(request.questions, scores))


def _conversation(items: Sequence[Item]) -> JsonState:
    called: set[str] = set()
    for index, item in enumerate(items):
        if isinstance(item, FunctionCall | CustomToolCall):
            called.add(item.call_id)
        elif not isinstance(item, Message) and item.call_id not in called:
            sentence = f"no call before it has the id {item.call_id[:40]!r}"
            raise InvalidRequestError(Problem(("input", index, "call_id"), sentence))
    return [_evidence(item) for item in items]


def _evidence(item: Item) -> dict[str, object]:
    """What the model reads of ``item``: who said what, which tool was called with what, and what came out."""
    if isinstance(item, Message):
        return {"role": item.role, "content": _content(item.content)}
    shown = item.model_dump(include={"type", "call_id", "namespace", "name", "arguments", "input"}, exclude_none=True)
    if isinstance(item, FunctionCallOutput | CustomToolCallOutput):
        shown["output"] = _content(item.output)
    return shown


def _content(content: str | Sequence[Part]) -> object:
    contents = _contents(content)
    return contents[0] if len(contents) == 1 else contents


def _contents(content: str | Sequence[Part]) -> list[object]:
    return [content] if isinstance(content, str) else [part.content for part in content]


def _decision(question: Question, state: JsonState, path: str) -> Decision:
    asked = "\n".join(_text(content) for content in _contents(question.instructions))
    options, decision_type = _options(question)
    return Decision(id=path, state=state, question=asked, options=options, type=decision_type)


def _options(question: Question) -> tuple[list[Option], DecisionType]:
    """The options as the model reads them. Some prompt profiles show ids, too, but not where id and text are one."""
    if isinstance(question, Predicate):
        return [Option(id=text, description=text) for text in ("no", "yes")], "noul"
    if isinstance(question, Choice):
        texts = [_shown(_text(choice.value), choice.description) for choice in question.choices]
        return [Option(id=text, description=text) for text in texts], "choice"
    texts = [_shown(level.label, level.description) for level in question.levels]
    return [Option(id=str(index), description=text) for index, text in enumerate(texts)], "score"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(name: str, description: str | None) -> str:
    return f"{name}: {description}" if description else name


def _response(questions: Sequence[Question], scores: Scores) -> dict[str, object]:
    """The body of the answer."""
    results = cast(list[dict[str, Any]], scores.results)
    usage = scores.usage
    identity = results[0]["model"]
    return answers.DecisionResponse(
        model=model_name(identity),
        answers=[_answer(question, result) for question, result in zip(questions, results, strict=True)],
        usage=answers.TokenUsage(
            input_tokens=usage.input_tokens,
            input_tokens_details=answers.InputTokensDetails(cached_tokens=usage.cached_tokens),
            total_tokens=usage.input_tokens,
        ),
        x_model=identity,
        x_timing=scores.timing,
    ).model_dump(mode="json")


def _answer(
    question: Question, result: dict[str, Any]
) -> answers.PredicateAnswer | answers.OpenAIChoiceAnswer | answers.OpenAIScoreAnswer:
    probabilities: list[float] = result["probabilities"]
    if isinstance(question, Predicate):
        return answers.PredicateAnswer(name=question.name, probability=probabilities[1], x_readout=readout_of(result))
    if isinstance(question, Choice):
        values = [choice.value for choice in question.choices]
        return answers.OpenAIChoiceAnswer(
            name=question.name,
            choice=values[probabilities.index(max(probabilities))],
            probabilities=[
                answers.ChoiceProbability(value=value, probability=probability)
                for value, probability in zip(values, probabilities, strict=True)
            ],
            confidence=choice_confidence(probabilities),
            x_readout=readout_of(result),
        )
    return answers.OpenAIScoreAnswer(
        name=question.name,
        score=sum(index * probability for index, probability in enumerate(probabilities)),
        probabilities=[
            answers.ScoreProbability(value=index, label=level.label, probability=probability)
            for index, (level, probability) in enumerate(zip(question.levels, probabilities, strict=True))
        ],
        confidence=score_confidence(probabilities),
        x_readout=readout_of(result),
    )


def _in_body(problem: Problem | str) -> Problem | str:
    """``problem`` at its place in the body: pydantic also names the member of a union, which is no step."""
    if isinstance(problem, str):
        return problem
    place: list[str | int] = []
    field, names_member = "", False
    for step in problem.place:
        if names_member and isinstance(step, str):
            names_member = False
            continue
        place.append(step)
        if isinstance(step, str):
            field = step
        names_member = field in UNIONS
    return replace(problem, place=tuple(place))


def refuse(error: RequestError) -> ErrorAnswer:
    """``error`` as OpenAI's clients read it.

    What the caller has to change is a 400, which they raise as BadRequestError; ``code`` says what it is. They retry
    every 5xx, so an error that would only come again says that it should not be.
    """
    status = errors.STATUS[type(error)]
    detail = answers.OpenAIErrorDetail(
        message=errors.message(error),
        type="invalid_request_error" if status < 500 else "server_error",
        param=_field(error),
        code=_code(error),
    )
    headers = errors.headers(error)
    if isinstance(error, DeadlineError):
        headers["x-should-retry"] = "false"
    return answers.OpenAIError(error=detail).model_dump(), 400 if status in (413, 415) else status, headers


def _field(error: RequestError) -> str | None:
    """The path of the first field at fault."""
    problems = error.problems if isinstance(error, InvalidRequestError) else ()
    places = [str(replace(one, sentence="")) for one in problems if isinstance(one, Problem) and one.place]
    return places[0].removesuffix(": ") if places else None


def _code(error: RequestError) -> str:
    """The error's name in small letters: ``too_large`` for TooLargeError."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__.removesuffix("Error")).lower()


CONTRACT = Contract("openai", OWN_FIELDS, ask, refuse)
