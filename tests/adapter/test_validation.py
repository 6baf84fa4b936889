"""What pydantic finds becomes problems with a place and a sentence of ours."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from decision_adapter.errors import InvalidRequestError, Problem
from decision_adapter.validation import validate


class Cat(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    type: Literal["cat"]
    lives: list[str] = Field(min_length=1, max_length=2)


class Dog(BaseModel):
    type: Literal["dog"]
    mood: Literal["good", "hungry"]


class Home(BaseModel):
    model_config = ConfigDict(strict=True)
    pets: dict[str, Annotated[Cat | Dog, Field(discriminator="type")]]


def problems(value: Any) -> list[Problem | str]:
    with pytest.raises(InvalidRequestError) as raised:
        validate(Home, value)
    return list(raised.value.problems)


def test_what_is_right_is_returned() -> None:
    assert validate(Dog, {"type": "dog", "mood": "good"}) == Dog(type="dog", mood="good")


@pytest.mark.parametrize(
    ("value", "place", "sentence", "kind"),
    [
        ([], (), "must be an object, got array", "model_type"),
        ({}, ("pets",), "is required", "missing"),
        ({"pets": None}, ("pets",), "must be an object, got null", "dict_type"),
        ({"pets": {"a": 1}}, ("pets", "a"), "must be an object, got number", "model_attributes_type"),
        ({"pets": {"a": {}}}, ("pets", "a"), "needs the field 'type'", "union_tag_not_found"),
        (
            {"pets": {"a": {"type": "cow"}}},
            ("pets", "a"),
            "'type' must be one of 'cat', 'dog', got 'cow'",
            "union_tag_invalid",
        ),
        (
            {"pets": {"a": {"type": None}}},
            ("pets", "a"),
            "'type' must be one of 'cat', 'dog', got null",
            "union_tag_invalid",
        ),
        (
            {"pets": {"a": {"type": ["cat"]}}},
            ("pets", "a"),
            "'type' must be one of 'cat', 'dog', got array",
            "union_tag_invalid",
        ),
        (
            {"pets": {"a": {"type": "dog", "mood": "x" * 99}}},
            ("pets", "a", "dog", "mood"),
            f"must be 'good' or 'hungry', got '{'x' * 41}",
            "literal_error",
        ),
        (
            {"pets": {"a": {"type": "cat", "lives": []}}},
            ("pets", "a", "cat", "lives"),
            "needs at least 1, got 0",
            "too_short",
        ),
        (
            {"pets": {"a": {"type": "cat", "lives": ["1", "2", "3"]}}},
            ("pets", "a", "cat", "lives"),
            "allows at most 2, got 3",
            "too_long",
        ),
        (
            {"pets": {"a": {"type": "cat", "lives": [True]}}},
            ("pets", "a", "cat", "lives", 0),
            "must be a string, got boolean",
            "string_type",
        ),
    ],
)
def test_what_is_wrong_has_a_place_a_sentence_and_a_word(
    value: Any, place: tuple[str | int, ...], sentence: str, kind: str
) -> None:
    assert problems(value) == [Problem(place, sentence, kind)]


def test_all_problems_are_kept_and_three_are_told() -> None:
    # given a cat with five problems
    found = problems({"pets": {"a": {"type": "cat", "lives": [1, None], "x": 1, "y": 2, "z": 3}}})
    # then
    assert len(found) == 5
    assert str(InvalidRequestError(*found)) == (
        "pets.a.cat.lives[0]: must be a string, got number; pets.a.cat.lives[1]: must be a string, got null; "
        "pets.a.cat.x: is not a field of the contract; remove it (and 2 more)"
    )


def test_problems_that_are_too_many_to_tell_are_counted() -> None:
    # given a hundred problems, and one more
    told, counted = (problems({"pets": {str(number): None for number in range(count)}}) for count in (100, 101))
    # then
    assert len(told) == 100
    assert [str(problem) for problem in counted] == [
        "body: has 101 problems, too many to tell; look for fields that the contract has not"
    ]
