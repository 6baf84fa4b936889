"""Request parameters checked against botocore's service models, which carry the constraints AWS enforces."""

import difflib
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StringShape, StructureShape
from botocore.validate import ParamValidator

from local_cloud.errors import ValidationError

_SHOWN_CHARACTERS = 80


@functools.cache
def service_model(service: str) -> ServiceModel:
    """What botocore knows of a service."""
    return botocore.session.get_session().get_service_model(service)


def validated(service: str, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a call, with the types of the service model.

    Templates carry numbers and booleans as text; they are converted first.

    Raises:
        ValidationError: one message that lists every violation with its path.
    """
    shape = service_model(service).operation_model(operation).input_shape
    if shape is None:
        return {}
    converted: dict[str, Any] = _convert(shape, dict(parameters))
    report = ParamValidator().validate(converted, shape)
    if report.has_errors():
        raise ValidationError(report.generate_report())
    violations = list(_violations(shape, converted, ""))
    if violations:
        plural = "s" if len(violations) > 1 else ""
        raise ValidationError(f"{len(violations)} validation error{plural} detected: {'; '.join(violations)}")
    return converted


def members(service: str, operation: str) -> frozenset[str]:
    """The names an operation's input may have."""
    shape = service_model(service).operation_model(operation).input_shape
    return frozenset(shape.members) if shape is not None else frozenset()


def _convert(shape: Shape, value: Any) -> Any:  # noqa: PLR0911 - one return a kind of shape
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return {k: _convert(shape.members[k], v) if k in shape.members else v for k, v in value.items()}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_convert(shape.member, v) for v in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {k: _convert(shape.value, v) for k, v in value.items()}
    if shape.type_name in ("integer", "long") and isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    if shape.type_name in ("float", "double") and isinstance(value, str) and re.fullmatch(r"-?[\d.]+", value):
        return float(value)
    if shape.type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    if shape.type_name == "string" and isinstance(value, (bool, int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return value


def _violations(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        for name, member in value.items():
            yield from _violations(shape.members[name], member, f"{path}.{name}".lstrip("."))
    elif isinstance(shape, ListShape):
        yield from _size_violation(shape, len(value), "length", value, path)
        for index, member in enumerate(value, 1):
            yield from _violations(shape.member, member, f"{path}.{index}")
    elif isinstance(shape, MapShape):
        for key, member in value.items():
            yield from _violations(shape.value, member, f"{path}.{key}")
    elif isinstance(shape, StringShape):
        yield from _text_violations(shape, value, path)
    elif shape.type_name in ("integer", "long", "float", "double"):
        yield from _size_violation(shape, value, "value", value, path)


def _text_violations(shape: StringShape, value: str, path: str) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        closest = ", ".join(difflib.get_close_matches(value, shape.enum, 5, 0.3)) or ", ".join(shape.enum[:5])
        yield f"{_at(value, path)}Member must satisfy enum value set; closest of {len(shape.enum)}: [{closest}]"
    yield from _size_violation(shape, len(value), "length", value, path)
    pattern = shape.metadata.get("pattern")
    if pattern is None:
        return
    try:
        matches = re.fullmatch(pattern, value, re.DOTALL)
    except re.error:  # a Java pattern that Python does not know
        return
    if not matches:
        yield f"{_at(value, path)}Member must satisfy regular expression pattern: {pattern}"


def _size_violation(shape: Shape, size: float, what: str, value: Any, path: str) -> Iterator[str]:
    subject = "Member must have length" if what == "length" else "Member must have value"
    if "min" in shape.metadata and size < shape.metadata["min"]:
        yield f"{_at(value, path)}{subject} greater than or equal to {shape.metadata['min']}"
    if "max" in shape.metadata and size > shape.metadata["max"]:
        yield f"{_at(value, path)}{subject} less than or equal to {shape.metadata['max']}"


def _at(value: Any, path: str) -> str:
    shown = str(value)
    cut = shown if len(shown) <= _SHOWN_CHARACTERS else shown[:_SHOWN_CHARACTERS] + "…"
    return f"Value '{cut}' at '{path}' failed to satisfy constraint: "
