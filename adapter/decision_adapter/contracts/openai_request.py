"""A request of OpenAI's Decisions API, as types.

Fields and shapes are those of the `openai` package, 3.57.0; descriptions are for whoever reads the API's document.
Unknown fields are refused, since a misspelt one would silently change nothing.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from decision_adapter.decision import MAX_OPTIONS, MIN_OPTIONS, Text
from decision_adapter.json_body import type_name

MAX_QUESTIONS = 400
MAX_LEVELS = 10


class Strict(BaseModel):
    """What all of these types have in common."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


def _object_or_objects(value: object) -> object:
    fits = isinstance(value, dict) or (isinstance(value, list) and all(isinstance(item, dict) for item in value))
    if not fits:
        raise PydanticCustomError("json_data", "must be an object or an array of objects")
    return value


def _no_image(value: object) -> object:
    if isinstance(value, dict) and value.get("type") == "input_image":
        raise PydanticCustomError("image", "is an image, and this model reads text only; describe it in words instead")
    return value


def _text_or_bool(value: object) -> object:
    if not isinstance(value, str | bool):
        raise PydanticCustomError("value", "must be a string or a boolean, got {got}", {"got": type_name(value)})
    if isinstance(value, str) and not value.strip():
        raise PydanticCustomError("blank", "must not be blank")
    return value


def _kind(value: object) -> str | None:
    """Which of a string and an array ``value`` is, so that only what it is meant to be is told about it."""
    return "text" if isinstance(value, str) else "array" if isinstance(value, list) else None


TEXT_OR_ARRAY = Discriminator(
    _kind, custom_error_type="text_or_array", custom_error_message="must be a string or an array"
)

SEVERAL = Field(min_length=1, fail_fast=True)
"""Of an array that has no upper bound: a body of nothing but mistakes must not become as many errors."""


class InputText(Strict):
    """A piece of text."""

    type: Literal["input_text"]
    text: str
    prompt_cache_breakpoint: dict[str, object] | None = Field(None, description="Accepted and ignored.")

    @property
    def content(self) -> object:
        """What the model reads."""
        return self.text


class InputJson(Strict):
    """A JSON object, or an array of objects, read as JSON text."""

    type: Literal["input_json"]
    data: Annotated[dict[str, object] | list[object], BeforeValidator(_object_or_objects)]

    @property
    def content(self) -> object:
        """What the model reads."""
        return self.data


class OutputText(Strict):
    """A piece of text that an assistant wrote."""

    type: Literal["output_text"]
    text: str

    @property
    def content(self) -> object:
        """What the model reads."""
        return self.text


class OutputRefusal(Strict):
    """What an assistant said when it declined."""

    type: Literal["refusal"]
    refusal: str

    @property
    def content(self) -> object:
        """What the model reads."""
        return self.refusal


QuestionPart = Annotated[InputText | InputJson, Field(discriminator="type"), BeforeValidator(_no_image)]
Part = Annotated[
    InputText | InputJson | OutputText | OutputRefusal, Field(discriminator="type"), BeforeValidator(_no_image)
]
Content = Annotated[Annotated[str, Tag("text")] | Annotated[list[Part], SEVERAL, Tag("array")], TEXT_OR_ARRAY]


class Message(Strict):
    """A message of a conversation."""

    type: Literal["message"] = "message"
    role: Literal["user", "developer", "system", "assistant"]
    content: Content
    phase: Literal["commentary", "final_answer"] | None = Field(None, description="Accepted and ignored.")


class ToolItem(Strict):
    """What calls of tools and their outputs have in common."""

    call_id: str = Field(description="Names the call; an output has that of a call before it.")
    id: str | None = Field(None, description="Accepted and ignored.")
    status: Literal["in_progress", "completed", "incomplete"] | None = Field(None, description="Accepted and ignored.")


class FunctionCall(ToolItem):
    """A function that an assistant called."""

    type: Literal["function_call"]
    name: str
    arguments: str
    namespace: str | None = None


class CustomToolCall(ToolItem):
    """A tool that an assistant called with text."""

    type: Literal["custom_tool_call"]
    name: str
    input: str
    namespace: str | None = None


class FunctionCallOutput(ToolItem):
    """What a function returned."""

    type: Literal["function_call_output"]
    output: Content


class CustomToolCallOutput(ToolItem):
    """What a tool returned."""

    type: Literal["custom_tool_call_output"]
    output: Content


ITEM_TYPES = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")


def _item_type(value: object) -> object:
    return value.get("type", "message") if isinstance(value, dict) else None


Item = Annotated[
    Annotated[Message, Tag("message")]
    | Annotated[FunctionCall, Tag("function_call")]
    | Annotated[FunctionCallOutput, Tag("function_call_output")]
    | Annotated[CustomToolCall, Tag("custom_tool_call")]
    | Annotated[CustomToolCallOutput, Tag("custom_tool_call_output")],
    Discriminator(
        lambda value: tag if (tag := _item_type(value)) in ITEM_TYPES else None,
        custom_error_type="item",
        custom_error_message=f"must be an object whose type is {', '.join(ITEM_TYPES[:-1])} or {ITEM_TYPES[-1]}",
    ),
]


def _says_something(instructions: str | list[InputText | InputJson]) -> str | list[InputText | InputJson]:
    texts = [instructions] if isinstance(instructions, str) else [str(part.content) for part in instructions]
    if not any(text.strip() for text in texts):
        raise PydanticCustomError("blank", "must not be blank")
    return instructions


class Question(Strict):
    """What all questions have in common."""

    name: str | None = Field(None, description="Returned with the answer; the model does not see it.")
    instructions: Annotated[
        Annotated[str, Tag("text")] | Annotated[list[QuestionPart], SEVERAL, Tag("array")],
        TEXT_OR_ARRAY,
        AfterValidator(_says_something),
        Field(description="What is asked about the input."),
    ]


class Predicate(Question):
    """How likely is a statement about the input to be true?"""

    type: Literal["predicate"]


class ChoiceOption(Strict):
    """One of the choices."""

    value: Annotated[str | bool, BeforeValidator(_text_or_bool)] = Field(
        description='Returned as sent; the string "true" and the boolean true are different choices.'
    )
    description: str | None = None


def _distinct(choices: Sequence[ChoiceOption]) -> Sequence[ChoiceOption]:
    seen = set()
    for choice in choices:
        if (type(choice.value), choice.value) in seen:
            value = repr(choice.value)[:42] if isinstance(choice.value, str) else str(choice.value).lower()
            raise PydanticCustomError(
                "repeated", "the value {value} stands twice; values must differ", {"value": value}
            )
        seen.add((type(choice.value), choice.value))
    return choices


class Choice(Question):
    """Which of the choices fits the input best?"""

    type: Literal["choice"]
    choices: Annotated[list[ChoiceOption], AfterValidator(_distinct)] = Field(
        min_length=MIN_OPTIONS, max_length=MAX_OPTIONS
    )


class Level(Strict):
    """One of the levels of a scale."""

    label: Text
    description: str | None = None


class Score(Question):
    """Which of the levels, lowest first, does the input reach?"""

    type: Literal["score"]
    levels: list[Level] = Field(min_length=MIN_OPTIONS, max_length=MAX_LEVELS)


class DecisionRequest(Strict):
    """Questions about one input."""

    model: str = Field(description="Any name: the container has one model, and the answer names it.")
    input: Annotated[
        Annotated[Text, Tag("text")] | Annotated[list[Item], SEVERAL, Tag("array")],
        TEXT_OR_ARRAY,
        Field(description="What every question is about: a text, or messages, calls of tools and their outputs."),
    ]
    questions: list[Annotated[Predicate | Choice | Score, Field(discriminator="type")]] = Field(
        min_length=1, max_length=MAX_QUESTIONS, description="Answered in this order."
    )
    prompt_cache_key: str | None = Field(None, description="Accepted and ignored.")
    prompt_cache_options: dict[str, object] | None = Field(None, description="Accepted and ignored.")
    safety_identifier: str | None = Field(None, description="Accepted and ignored.")
