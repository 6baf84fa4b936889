"""System One's questions as the decisions that an endpoint makes of them, and what their labels may be.

The options read as the endpoint writes them for `POST /v1/systemone`, so that the prompt is the same to the byte.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from decision_client import Option

NO_INSTRUCTIONS = "Which answer fits?"
"""Asked where the criteria alone say what the question is."""

MAX_NAMES = 255
MAX_LEVELS = 10


def _content(value: object) -> object:
    if not isinstance(value, str | dict | list):
        raise ValueError("must be a string, an object or an array")  # noqa: TRY004  # pydantic takes no TypeError
    return value


def _named(value: object) -> object:
    """Names with their descriptions, from the list of keys that sys1bench writes, too."""
    if isinstance(value, list) and value and all(isinstance(one, dict) and "key" in one for one in value):
        return {one["key"]: one.get("description") for one in value}
    return value


def _levels(value: object) -> object:
    """Levels from the lowest, from the list of numbered levels that sys1bench writes, too."""
    if isinstance(value, list) and [one.get("level") for one in value if isinstance(one, dict)] == [*range(len(value))]:
        return [one.get("description") for one in value]
    return value


Content = Annotated[Any, BeforeValidator(_content)]


class _Question(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    instructions: Content | None = None

    def asked(self) -> str:
        """What the model is asked."""
        return text(self.instructions) or NO_INSTRUCTIONS


class _NoulCriteria(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    true: Content | None = None
    false: Content | None = None


class Noul(_Question):
    """A question to be answered with yes or no."""

    type: Literal["noul"]
    criteria: _NoulCriteria | None = None

    def names(self) -> tuple[str, ...]:
        """What a label may be, in the order of the options."""
        return ("no", "yes")

    def options(self) -> list[Option]:
        """The options as the model reads them."""
        criteria = self.criteria or _NoulCriteria()
        return [_option("no", criteria.false), _option("yes", criteria.true)]

    def label(self, value: object) -> str | None:
        """The name that ``value`` means; None when it is no label of this question."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return value if isinstance(value, str) and value in self.names() else None

    def allowed(self) -> str:
        """What a label has to be."""
        return "'no' or 'yes'"


class ChoiceOf(_Question):
    """A question to be answered with one of several names."""

    type: Literal["choice"]
    criteria: Annotated[dict[str, Content | None], BeforeValidator(_named)] = Field(min_length=2, max_length=MAX_NAMES)

    def names(self) -> tuple[str, ...]:
        """What a label may be, in the order of the options."""
        return tuple(self.criteria)

    def options(self) -> list[Option]:
        """The options as the model reads them."""
        return [_option(name, description) for name, description in self.criteria.items()]

    def label(self, value: object) -> str | None:
        """The name that ``value`` means; None when it is no label of this question."""
        return value if isinstance(value, str) and value in self.criteria else None

    def allowed(self) -> str:
        """What a label has to be."""
        return "one of " + ", ".join(map(repr, self.criteria))


class Score(_Question):
    """A question to be answered with a level of a scale."""

    type: Literal["score"]
    criteria: Annotated[list[Content], BeforeValidator(_levels)] = Field(min_length=2, max_length=MAX_LEVELS)

    def names(self) -> tuple[str, ...]:
        """What a label may be, in the order of the options."""
        return tuple(map(str, range(len(self.criteria))))

    def options(self) -> list[Option]:
        """The options as the model reads them."""
        shown = (_visible(text(description)) for description in self.criteria)
        return [Option(str(level), description) for level, description in enumerate(shown)]

    def label(self, value: object) -> str | None:
        """The name that ``value`` means; None when it is no label of this question."""
        is_level = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(self.criteria)
        return str(value) if is_level else None

    def allowed(self) -> str:
        """What a label has to be."""
        return f"an integer from 0 to {len(self.criteria) - 1}"


Question = Annotated[Noul | ChoiceOf | Score, Field(discriminator="type")]


def text(content: object) -> str:
    """``content`` as the model reads it: text as it is, JSON as JSON text. Empty where there is nothing to read."""
    if isinstance(content, str):
        return content if content.strip() else ""
    return json.dumps(content, ensure_ascii=False) if content else ""


def _option(name: str, description: object) -> Option:
    described = text(description)
    shown = f"{_visible(name)}: {described}" if described else _visible(name)
    return Option(shown, shown)


def _visible(name: str) -> str:
    return name if name.strip() else json.dumps(name)
