"""Bytes become values that mean one thing, or an error that names the place."""

import json

import pytest

from decision_adapter.errors import InvalidRequestError
from decision_adapter.json_body import MAX_DEPTH, parse


def nested(levels: int) -> bytes:
    """An object whose innermost value is ``levels`` deep."""
    return b'{"a": ' + b"[" * (levels - 1) + b"0" + b"]" * (levels - 1) + b"}"


@pytest.mark.parametrize("value", [{}, {"a": [1, 2.5, None, True, "ä€😀"]}, {"": {"": ""}}])
def test_an_object_is_returned_as_it_is(value: dict[str, object]) -> None:
    assert parse(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "body: not JSON: Expecting value at character 0"),
        (b'{"a": 1', "body: not JSON: Expecting ',' delimiter at character 7"),
        (b"[1]", "body: must be a JSON object, got array"),
        (b"null", "body: must be a JSON object, got null"),
        (b'{"a": NaN}', "body: NaN is not a JSON number"),
        (b'{"a": [-Infinity]}', "body: -Infinity is not a JSON number"),
        (b'{"a": 1e999}', "body: the number 1e999 is too large"),
        (b'{"a": 1, "a": 2}', "body: the key 'a' stands twice in one object"),
        (b'{"a": "\xff"}', "body: not UTF-8 at byte 7"),
        (b'\xef\xbb\xbf{"a": 1}', "body: begins with a byte order mark; send UTF-8 without one"),
        (rb'{"a": [{"b": "\ud83d"}]}', "a[0].b: holds half of a surrogate pair, which is no character"),
        (rb'{"a": {"\udc00": 1}}', "a: holds half of a surrogate pair, which is no character"),
    ],
)
def test_what_is_wrong_is_named(body: bytes, message: str) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        parse(body)
    assert str(raised.value) == message


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert parse(rb'{"a": "\ud83d\ude00"}') == {"a": "😀"}


def test_an_integer_of_too_many_digits_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="body: an integer has more digits than can be read"):
        parse(b'{"a": ' + b"9" * 5000 + b"}")


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 2000, 100_000])
def test_deep_nesting_is_refused(levels: int) -> None:
    with pytest.raises(InvalidRequestError, match=f"nested deeper than {MAX_DEPTH} levels"):
        parse(nested(levels))


def test_nesting_up_to_the_limit_is_accepted() -> None:
    assert parse(nested(MAX_DEPTH))


def test_the_path_in_a_message_can_itself_be_sent() -> None:
    with pytest.raises(InvalidRequestError) as raised:
        parse(rb'{"\ud800": "\ud800"}')
    assert str(raised.value).encode("utf-8")
