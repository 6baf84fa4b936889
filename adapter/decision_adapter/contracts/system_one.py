"""System One's contract: typed questions about one state in, typed answers out. ``docs/system-one.md`` explains it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from decision_adapter import errors
from decision_adapter.confidence import choice_confidence, score_confidence
from decision_adapter.contracts.answer_readout import readout_of
from decision_adapter.contracts.contract import Asked, Contract, ErrorAnswer
from decision_adapter.contracts.model_name import model_name
from decision_adapter.contracts.system_one_schema import (
    ChoiceAnswer,
    ChoiceQuestion,
    ModelEntry,
    ModelList,
    NoulAnswer,
    NoulCriteria,
    NoulQuestion,
    Question,
    ScoreAnswer,
    SystemOneAnswer,
    SystemOneRequest,
    Usage,
)
from decision_adapter.decision import Decision, Option
from decision_adapter.errors import InvalidRequestError, Problem, RequestError, UnknownModelError
from decision_adapter.scorer import Scores
from decision_adapter.validation import validate

OWN_FIELDS = ("state",)

ALIAS = "jev-latest"
"""The name that the SDKs send unless they are told another."""

NO_INSTRUCTIONS = "Which answer fits?"
"""Asked where the criteria alone say what the question is."""

MAX_PROBLEMS = 20
"""Problems told of one request."""

ERROR_TYPES: Mapping[type[RequestError], str] = {
    errors.UnknownModelError: "api_usage_error",
    errors.AuthenticationError: "authentication_error",
    errors.UnknownRouteError: "not_found_error",
    errors.MethodError: "api_usage_error",
    errors.TooLargeError: "max_tokens_exceeded",
    errors.UnsupportedContentError: "unsupported_media_type",
    errors.UnsupportedEncodingError: "unsupported_media_type",
    errors.LateRequestError: "timeout_error",
    errors.BusyError: "overloaded_error",
    errors.LoadingError: "overloaded_error",
    errors.StoppingError: "overloaded_error",
    errors.DeadlineError: "timeout_error",
    errors.ClientGoneError: "client_gone",
    errors.ScoringError: "api_error",
}
"""``error_type`` of every error but those of validation, which have places instead."""


def contract(model: Callable[[], Mapping[str, Any]]) -> Contract:
    """The contract; ``model`` says the identity of the one that is served.

    ``model`` may raise RequestError, as long as none is loaded.
    """
    return Contract("system-one", OWN_FIELDS, lambda body: ask(body, model_name(model())), refuse)


def models(model: Mapping[str, Any]) -> dict[str, object]:
    """The answer of ``GET /v1/models``: the names by which the model of this identity can be asked."""
    name = model_name(model)
    texts = {name: "The decision model that this endpoint serves.", ALIAS: f"Another name of {name}."}
    entries = [ModelEntry(name=key, description=text, release_date="1970-01-01") for key, text in texts.items()]
    return ModelList(models=entries).model_dump()


def ask(body: dict[str, object], served: str) -> Asked:
    """What ``body`` asks for: a decision for each question, over the same state.

    Raises:
        InvalidRequestError: the contract is broken; with all the problems.
        UnknownModelError: another model than ``served`` is asked for.
    """
    request = validate(SystemOneRequest, body)
    if request.model not in (served, ALIAS):
        raise UnknownModelError(f"model: {request.model[:40]!r} is not served here; ask for {served!r} or {ALIAS!r}")
    wordless = [name for name, question in request.questions.items() if _asks_nothing(question)]
    if wordless:
        sentence = "needs instructions, or criteria that say what counts as true or false"
        raise InvalidRequestError(*(Problem(("questions", name, "noul"), sentence) for name in wordless))
    decisions = tuple(_decision(request, name, question) for name, question in request.questions.items())
    return Asked(decisions, lambda scores: _answer(request, scores))


def refuse(error: RequestError) -> ErrorAnswer:
    """How ``error`` is told: with the places of what is wrong in the body, or with a word for programs."""
    if isinstance(error, InvalidRequestError):
        problems = [_told(problem) for problem in error.problems[:MAX_PROBLEMS]]
        return {"detail": problems}, 422, {}
    headers = errors.headers(error)
    if "Retry-After" in headers:
        headers["Retry-After-Ms"] = f"{headers['Retry-After']}000"
    detail = {"error_type": ERROR_TYPES[type(error)], "message": errors.message(error)}
    return {"detail": detail}, errors.STATUS[type(error)], headers


def _told(problem: Problem | str) -> dict[str, object]:
    if isinstance(problem, str):
        return {"loc": ["body"], "msg": problem, "type": "value_error"}
    steps = [step if isinstance(step, int) else errors.printable(step, 200) for step in problem.place]
    return {"loc": ["body", *steps], "msg": problem.sentence, "type": problem.kind}


def _asks_nothing(question: Question) -> bool:
    if not isinstance(question, NoulQuestion) or _text(question.instructions):
        return False
    criteria = question.criteria or NoulCriteria()
    return not _text(criteria.true) and not _text(criteria.false)


def _decision(request: SystemOneRequest, name: str, question: Question) -> Decision:
    return Decision(
        id=_visible(name),
        state=request.state,
        question=_text(question.instructions) or NO_INSTRUCTIONS,
        options=_options(question),
        type=question.type,
    )


def _options(question: Question) -> list[Option]:
    """The options as the model reads them: those of a noul are no and yes, as deciders were trained."""
    if isinstance(question, NoulQuestion):
        criteria = question.criteria or NoulCriteria()
        return [_named("no", criteria.false), _named("yes", criteria.true)]
    if isinstance(question, ChoiceQuestion):
        return [_named(name, description) for name, description in question.criteria.items()]
    return [
        Option(id=str(level), description=_visible(_text(description)))
        for level, description in enumerate(question.criteria)
    ]


def _named(name: str, description: object) -> Option:
    """An option whose name says something, too. Id and text are one, so that no prompt profile shows the name twice."""
    text = _text(description)
    shown = f"{_visible(name)}: {text}" if text else _visible(name)
    return Option(id=shown, description=shown)


def _text(content: object) -> str:
    """``content`` as the model reads it: text as it is, JSON as JSON text. Empty where there is nothing to read."""
    if isinstance(content, str):
        return content if content.strip() else ""
    return json.dumps(content, ensure_ascii=False) if content else ""


def _visible(text: str) -> str:
    """``text``, in quotes where it would be blank."""
    return text if text.strip() else json.dumps(text)


def _answer(request: SystemOneRequest, scores: Scores) -> dict[str, object]:
    model: Any = scores.results[0]["model"]
    answers = {
        name: _answer_of(question, result)
        for (name, question), result in zip(request.questions.items(), scores.results, strict=True)
    }
    usage = Usage(input_tokens=scores.usage.input_tokens, output_tokens=0)
    return SystemOneAnswer(
        model=model_name(model), answers=answers, usage=usage, x_model=model, x_timing=scores.timing
    ).model_dump()


def _answer_of(question: Question, result: Mapping[str, Any]) -> NoulAnswer | ChoiceAnswer | ScoreAnswer:
    probabilities: Sequence[float] = result["probabilities"]
    readout = readout_of(result)
    if isinstance(question, NoulQuestion):
        return NoulAnswer(noul=probabilities[1], x_readout=readout)
    if isinstance(question, ChoiceQuestion):
        named = dict(zip(question.criteria, probabilities, strict=True))
        likeliest = max(named, key=lambda name: named[name])
        confidence = choice_confidence(probabilities)
        return ChoiceAnswer(choice=likeliest, probabilities=named, confidence=confidence, x_readout=readout)
    levels = {str(level): content for level, content in enumerate(question.criteria)}
    return ScoreAnswer(
        score=sum(level * probability for level, probability in enumerate(probabilities)),
        legend=levels,
        probabilities=dict(zip(levels, probabilities, strict=True)),
        confidence=score_confidence(probabilities),
        x_readout=readout,
    )
