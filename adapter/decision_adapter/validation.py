"""From JSON values to the types of a contract, or one error that names everything that is wrong with them."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from decision_adapter.errors import InvalidRequestError, Problem
from decision_adapter.json_body import type_name

M = TypeVar("M", bound=BaseModel)

MAX_PROBLEMS = 100
"""Told one by one; a body of thousands of unknown fields would cost more memory to explain than to read."""


def validate(model: type[M], body: object) -> M:
    """``body`` as a ``model``.

    Raises:
        InvalidRequestError: with each problem that pydantic found, or their number when they are too many.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        if error.error_count() > MAX_PROBLEMS:
            sentence = (
                f"has {error.error_count()} problems, too many to tell; look for fields that the contract has not"
            )
            raise InvalidRequestError(Problem((), sentence)) from error
        raise InvalidRequestError(*map(_problem, error.errors(include_url=False))) from error


def _problem(detail: ErrorDetails) -> Problem:
    """One of pydantic's errors in our words: what is allowed, what was sent."""
    context, got = detail.get("ctx", {}), type_name(detail["input"])
    sentences = {
        "missing": "is required",
        "extra_forbidden": "is not a field of the contract; remove it",
        "string_type": f"must be a string, got {got}",
        "list_type": f"must be an array, got {got}",
        "dict_type": f"must be an object, got {got}",
        "model_type": f"must be an object, got {got}",
        "model_attributes_type": f"must be an object, got {got}",
        "literal_error": f"must be {context.get('expected')}, got {_cut(detail['input'])}",
        "too_short": f"needs at least {context.get('min_length')}, got {context.get('actual_length')}",
        "too_long": f"allows at most {context.get('max_length')}, got {context.get('actual_length')}",
        "union_tag_not_found": f"needs the field {context.get('discriminator')}",
        "union_tag_invalid": f"{context.get('discriminator')} must be one of {context.get('expected_tags')}, "
        f"got {_cut(_type_in(detail['input']))}",
    }
    return Problem(detail["loc"], sentences.get(detail["type"], detail["msg"]), detail["type"])


def _type_in(value: object) -> object:
    """What stands in the field by which the members of our unions are told apart."""
    return value.get("type") if isinstance(value, dict) else None


def _cut(value: object) -> str:
    """A string in quotes, as far as it fits into a message; the type of anything else."""
    return repr(value)[:42] if isinstance(value, str) else type_name(value)
