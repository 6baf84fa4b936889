"""From the bytes of a body to JSON values that can be scored, or an error that says what is wrong with them."""

import json
import math
from collections.abc import Iterator

from decision_adapter.errors import InvalidRequestError, Problem, printable

MAX_DEPTH = 64
"""Levels of nesting accepted; far below what Python's own encoder can take, far above what evidence needs."""

LinkedPlace = tuple[()] | tuple["LinkedPlace", str | int]
"""Where a value stands: its container's place and its key or index. Linked, so that walking copies no path."""


def parse(body: bytes) -> dict[str, object]:
    """The JSON object in ``body``.

    Stricter than Python's parser, because every value ends up as text in a prompt that must mean one thing: no NaN
    or infinity, no duplicate keys, no half surrogates, nothing nested deeper than ``MAX_DEPTH``.

    Raises:
        InvalidRequestError: with the place of the fault.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _wrong(f"not UTF-8 at byte {error.start}") from error
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _wrong(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise _wrong(f"nested deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise _wrong("an integer has more digits than can be read") from error
    if not isinstance(value, dict):
        raise _wrong(f"must be a JSON object, got {type_name(value)}")
    for place, depth, item in _walk(value):
        if depth > MAX_DEPTH:
            raise _wrong(f"nested deeper than {MAX_DEPTH} levels", place)
        if isinstance(item, str) and not _encodable(item):
            raise _wrong("holds half of a surrogate pair, which is no character", place)
    return value


def type_name(value: object) -> str:
    """JSON's word for the type of ``value``."""
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _walk(root: object) -> Iterator[tuple[LinkedPlace, int, object]]:
    """Place, depth and value of everything in ``root``, keys included; without recursion."""
    stack: list[tuple[LinkedPlace, int, object]] = [((), 0, root)]
    while stack:
        place, depth, value = stack.pop()
        yield place, depth, value
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, dict):
            stack.extend(((place, key), depth + 1, item) for key, item in value.items())
            stack.extend((place, depth + 1, key) for key in value)
        elif isinstance(value, list):
            stack.extend(((place, index), depth + 1, item) for index, item in enumerate(value))


def _wrong(sentence: str, place: LinkedPlace = ()) -> InvalidRequestError:
    steps: list[str | int] = []
    while place:
        place, step = place
        steps.append(step)
    return InvalidRequestError(Problem(tuple(reversed(steps)), sentence, "json_invalid"))


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise _wrong(f"the key {printable(key)!r} stands twice in one object")
        values[key] = value
    return values


def _no_constant(name: str) -> object:
    raise _wrong(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _wrong(f"the number {text[:40]} is too large")
    return value
