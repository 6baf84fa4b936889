"""A table of a settings file whose problems are all told at once, in words.

pydantic checks the fields; a section adds rules across fields. Both run, whatever the other finds, and every problem
becomes one sentence: what was seen, what is expected.
"""

import difflib
from collections.abc import Iterator
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

Raw = dict[str, Any]
Problem = tuple[tuple[str | int, ...], str]
"""Where (a key path below the section) and what."""

_TOLD = "told"
"""The type of an error that is already a sentence of ours."""
_SEEN_LIMIT = 160


class Section(BaseModel):
    """A table of the settings file: frozen, no unknown keys, field checks and rules reported together."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """Yield what is wrong across fields. `raw` is the table as written: nothing in it can be trusted."""
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _check_fields_and_rules(cls, raw: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        section, problems = None, list[Problem]()
        try:
            section = handler(raw)
        except ValidationError as error:
            problems += [(line["loc"], cls._sentence(line)) for line in error.errors()]
        if isinstance(raw, dict):
            problems += cls.rules(raw)
        if section is None or problems:
            raise ValidationError.from_exception_data(
                cls.__name__,
                [
                    InitErrorDetails(type=PydanticCustomError(_TOLD, "{text}", {"text": text}), loc=where, input=None)
                    for where, text in problems
                ],
            )
        return section

    @classmethod
    def _sentence(cls, line: ErrorDetails) -> str:
        key = str(line["loc"][0]) if line["loc"] else ""
        match line["type"]:
            case "model_type":
                return "expected a table"
            case "missing":
                return f"missing; {expected(cls, key)}"
            case "extra_forbidden":
                near = difflib.get_close_matches(key, cls.model_fields, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"allowed: {', '.join(cls.model_fields)}"
                return f"unknown key; {hint}"
            case type_ if type_ == _TOLD:
                return line["msg"]
            case _:
                seen = repr(line["input"])
                seen = seen if len(seen) <= _SEEN_LIMIT else f"{seen[:_SEEN_LIMIT]}…"
                return f"{seen}: {expected(cls, key, line['msg'])}"


def expected(section: type[Section], key: str, otherwise: str = "give it a value") -> str:
    """What the field's description says is allowed; `X | None` keeps it one level down."""
    field = section.model_fields.get(key)
    if field is None:
        return otherwise[:1].lower() + otherwise[1:]
    inner = (extra for part in get_args(field.annotation) for extra in getattr(part, "__metadata__", ()))
    descriptions = [told.description for told in (field, *inner) if isinstance(told, FieldInfo) and told.description]
    return f"expected {descriptions[0]}" if descriptions else otherwise[:1].lower() + otherwise[1:]
