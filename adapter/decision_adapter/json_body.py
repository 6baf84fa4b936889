"""From the bytes of a body to JSON values that can be scored, or an error that says what is wrong with them."""

import json
import math
from collections.abc import Iterator, Sequence

from decision_adapter.errors import InvalidRequestError, Problem, printable

MAX_DEPTH = 64
"""Levels of nesting accepted; far below what Python's own encoder can take, far above what evidence needs."""


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
    if text.startswith("\ufeff"):
        raise _wrong("begins with a byte order mark; send UTF-8 without one")
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
    for steps, item in _walk(value):
        if len(steps) > MAX_DEPTH:
            raise _wrong(f"nested deeper than {MAX_DEPTH} levels", steps)
        texts = item if isinstance(item, dict) else (item,)  # of an object, its keys
        if any(isinstance(text, str) and not _encodable(text) for text in texts):
            raise _wrong("holds half of a surrogate pair, which is no character", steps)
    return value


def type_name(value: object) -> str:
    """JSON's word for the type of ``value``."""
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _walk(root: object) -> Iterator[tuple[list[str | int], object]]:
    """Everything in ``root``, with the steps that lead there.

    Without recursion, and with memory for the depth alone: small values already take many times the bytes of a body.
    The steps are one list, which changes.
    """
    steps: list[str | int] = []
    yield steps, root
    levels = [_children(root)]
    while levels:
        for step, item in levels[-1]:
            steps.append(step)
            yield steps, item
            if isinstance(item, dict | list):
                levels.append(_children(item))
                break
            steps.pop()
        else:
            levels.pop()
            if steps:
                steps.pop()


def _children(value: object) -> Iterator[tuple[str | int, object]]:
    """Key or index, and value, of what is right in ``value``."""
    if isinstance(value, dict):
        return iter(value.items())
    return enumerate(value) if isinstance(value, list) else iter(())


def _wrong(sentence: str, steps: Sequence[str | int] = ()) -> InvalidRequestError:
    return InvalidRequestError(Problem(tuple(steps), sentence, "json_invalid"))


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
