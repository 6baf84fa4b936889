"""Comparing an answer with one that tells only some of its fields, and numbers to a few digits."""

from typing import Any

import pytest


def parts_of(answer: Any, expected: Any) -> Any:
    """``answer`` reduced to the fields that ``expected`` speaks of, numbers rounded to as many digits."""
    if isinstance(expected, dict):
        return {name: parts_of(answer[name], value) for name, value in expected.items()}
    if isinstance(expected, list):
        return [parts_of(item, value) for item, value in zip(answer, expected, strict=True)]
    if isinstance(expected, float):
        return pytest.approx(expected, abs=5e-4) if answer == pytest.approx(expected, abs=5e-4) else answer
    return answer
