"""The OpenAPI 3.1 document of the container's routes, made of the types that validate requests and answers.

python -m decision_adapter.openapi > docs/openapi.json
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from decision_adapter.contracts import json_lines
from decision_adapter.contracts import openai_answer as openai
from decision_adapter.contracts import semif_schema as semif
from decision_adapter.contracts import system_one_schema as system_one
from decision_adapter.contracts.openai_request import DecisionRequest

Json = dict[str, Any]
Types = Sequence[type[BaseModel]]

REASONS: Mapping[int, str] = {
    200: "The answer.",
    400: "The request has to be changed; the message says where and how.",
    401: "The key is missing or wrong.",
    408: "The body did not arrive in time.",
    413: "A limit is passed; the message names it and its setting.",
    415: "The body is declared as something that is not read here.",
    422: "The request has to be changed; every problem is told with its place.",
    499: "The caller hung up; nobody reads this.",
    500: "Scoring failed; the reason is in the log.",
    503: "Busy, loading or stopping: the same request can succeed after Retry-After seconds.",
    504: "It took longer than SEMIF_DEADLINE_SECONDS and was aborted; the same request would again.",
}
BUSY = 503

_STATE = "The reset email never arrived."
_OPTIONS = [
    {"id": "account", "description": "Account access and authentication support."},
    {"id": "billing", "description": "Billing and payment support."},
]
_QUEUE = {"id": "queue", "state": _STATE, "question": "Which queue should handle this request?", "options": _OPTIONS}
_URGENT = {
    "id": "urgent",
    "state": _STATE,
    "question": "Is it urgent?",
    "options": [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}],
    "type": "noul",
}

EXAMPLES: Mapping[type[BaseModel], Json] = {
    semif.OneDecision: {"decision": _QUEUE},
    semif.SharedDecisions: {"decisions": [_QUEUE, _URGENT]},
    system_one.SystemOneRequest: {
        "model": "jev-latest",
        "state": _STATE,
        "questions": {
            "queue": {"type": "choice", "criteria": {"account": "Account access.", "billing": "Payments."}},
            "urgent": {"type": "noul", "instructions": "Is it urgent?"},
            "anger": {"type": "score", "instructions": "How angry is the customer?", "criteria": ["calm", "furious"]},
        },
    },
    DecisionRequest: {
        "model": "any",
        "input": _STATE,
        "questions": [
            {"type": "predicate", "instructions": "It is urgent."},
            {
                "type": "choice",
                "instructions": "Which queue should handle this request?",
                "choices": [{"value": "account"}, {"value": "billing", "description": "Payments."}],
            },
        ],
    },
}
"""A request of each kind."""

SCORING = (408, 413, 415, 499, 500, BUSY, 504)
"""What may happen to any request for decisions, in any contract."""


@dataclass(frozen=True)
class Operation:
    """What can be done at a path."""

    method: str
    path: str
    summary: str
    answers: Types = ()
    """The body of a 200 is one of these."""
    errors: Types = (semif.SemIfError,)
    """The body of any other status is one of these."""
    asks: Types = ()
    """The body of a request is one of these."""
    statuses: tuple[int, ...] = ()
    """Beside 200, and 401 where a key is needed."""
    keyed: bool = True
    lines: bool = False
    """Whether JSON Lines are taken, too."""


OPERATIONS = (
    Operation(
        "post",
        "/invocations",
        "Score decisions of any contract, told by the fields of the body; the path that InvokeEndpoint reaches",
        answers=(semif.OneResult, semif.SharedResults, system_one.SystemOneAnswer, openai.DecisionResponse),
        errors=(semif.SemIfError, system_one.ValidationProblems, system_one.SystemOneError, openai.OpenAIError),
        asks=(semif.OneDecision, semif.SharedDecisions, system_one.SystemOneRequest, DecisionRequest),
        statuses=(400, 422, *SCORING),
        lines=True,
    ),
    Operation(
        "post",
        "/v1/systemone",
        "Answer System One's questions about one state",
        answers=(system_one.SystemOneAnswer,),
        errors=(system_one.ValidationProblems, system_one.SystemOneError),
        asks=(system_one.SystemOneRequest,),
        statuses=(400, 422, *SCORING),
    ),
    Operation(
        "get",
        "/v1/models",
        "The names by which System One's clients can ask for the model",
        answers=(system_one.ModelList,),
        errors=(system_one.SystemOneError,),
        statuses=(BUSY,),
    ),
    Operation(
        "post",
        "/v1/decisions",
        "Answer questions of OpenAI's Decisions API",
        answers=(openai.DecisionResponse,),
        errors=(openai.OpenAIError,),
        asks=(DecisionRequest,),
        statuses=(400, 408, 499, 500, BUSY, 504),
    ),
    Operation("get", "/metadata", "The model's identity, and the labels of each prompt profile", statuses=(BUSY,)),
    Operation(
        "get",
        "/ping",
        "Whether a decision can be scored now",
        answers=(semif.Status,),
        errors=(semif.Status,),
        statuses=(BUSY,),
        keyed=False,
    ),
)


def document() -> Json:
    """The document: OpenAPI 3.1, JSON Schema 2020-12."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Decision endpoint",
            "version": "1",
            "summary": "Scores a fixed set of options with one forward pass of a llama.cpp model.",
            "description": "GET /metrics answers with Prometheus text, this document is GET /openapi.json, and where "
            "SEMIF_PLAYGROUND is 1, GET / is a page to try decisions on.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {operation.path: {operation.method: _described(operation)} for operation in OPERATIONS},
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Where the container has a SEMIF_API_KEY. On SageMaker, IAM decides who may ask.",
                }
            },
        },
    }


def _schemas() -> Json:
    kinds: dict[JsonSchemaMode, Iterable[type[BaseModel]]] = {
        "validation": (kind for operation in OPERATIONS for kind in operation.asks),
        "serialization": (kind for operation in OPERATIONS for kind in (*operation.answers, *operation.errors)),
    }
    wanted = [(kind, mode) for mode, these in kinds.items() for kind in dict.fromkeys(these)]
    _, schemas = models_json_schema(wanted, ref_template="#/components/schemas/{model}")
    found: Json = schemas["$defs"]
    return found


def _described(operation: Operation) -> Json:
    described: Json = {"summary": operation.summary, "responses": _responses(operation)}
    if operation.keyed:
        described["security"] = [{}, {"key": []}]
    if operation.asks:
        content = _content(operation.asks, operation.lines)
        content["application/json"]["examples"] = {
            kind.__name__: {"summary": (kind.__doc__ or "").partition("\n")[0], "value": EXAMPLES[kind]}
            for kind in operation.asks
        }
        described["requestBody"] = {"required": True, "content": content}
    return described


def _responses(operation: Operation) -> Json:
    statuses = (*operation.statuses, *((401,) if operation.keyed else ()))
    responses: Json = {"200": {"description": REASONS[200], "content": _content(operation.answers, operation.lines)}}
    for status in sorted(statuses):
        responses[str(status)] = {"description": REASONS[status], "content": _content(operation.errors)}
    return responses


def _content(kinds: Types, lines: bool = False) -> Json:
    references = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in kinds]
    schema = references[0] if len(references) == 1 else {"anyOf": references} if references else {"type": "object"}
    content: Json = {"application/json": {"schema": schema}}
    if lines:
        content[json_lines.CONTENT_TYPE] = {
            "schema": {"type": "string", "description": "One of the objects of application/json a line."}
        }
    return content


if __name__ == "__main__":
    print(json.dumps(document(), indent=2, ensure_ascii=False))
