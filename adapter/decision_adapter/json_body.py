"""From the bytes of a body to JSON values that can be scored, or an error that says what is wrong with them."""

import json
import math
from collections.abc import Iterator

from decision_adapter.errors import InvalidRequestError

MAX_DEPTH = 64
"""Levels of nesting accepted; far below what Python's own encoder can take, far above what evidence needs."""

MAX_PATH_LENGTH = 100
"""Characters of a field's path in a message."""

Place = tuple[()] | tuple["Place", str | int]
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
        raise InvalidRequestError(f"body: not UTF-8 at byte {error.start}") from error
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InvalidRequestError(f"body: not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise InvalidRequestError(f"body: nested deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise InvalidRequestError("body: an integer has more digits than can be read") from error
    if not isinstance(value, dict):
        raise InvalidRequestError(f"body: must be a JSON object, got {type_name(value)}")
    for place, depth, item in _walk(value):
        if depth > MAX_DEPTH:
            raise InvalidRequestError(f"{_path(place)}: nested deeper than {MAX_DEPTH} levels")
        if isinstance(item, str) and not _encodable(item):
            raise InvalidRequestError(f"{_path(place)}: holds half of a surrogate pair, which is no character")
    return value


def type_name(value: object) -> str:
    """JSON's word for the type of ``value``."""
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _walk(root: object) -> Iterator[tuple[Place, int, object]]:
    """Place, depth and value of everything in ``root``, keys included; without recursion."""
    stack: list[tuple[Place, int, object]] = [((), 0, root)]
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


def _path(place: Place) -> str:
    """``place`` as text, ``decision.options[0].id``, cut and safe to send back: a key may itself be what is wrong."""
    parts: list[str] = []
    while place:
        place, step = place
        parts.append(f"[{step}]" if isinstance(step, int) else f".{_printable(step)}")
    path = "".join(reversed(parts)).removeprefix(".") or "body"
    return path if len(path) <= MAX_PATH_LENGTH else path[:MAX_PATH_LENGTH] + "…"


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _printable(text: str) -> str:
    return text[:40].encode("utf-8", "backslashreplace").decode("utf-8")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise InvalidRequestError(f"body: the key {_printable(key)!r} stands twice in one object")
        values[key] = value
    return values


def _no_constant(name: str) -> object:
    raise InvalidRequestError(f"body: {name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidRequestError(f"body: the number {text[:40]} is too large")
    return value
