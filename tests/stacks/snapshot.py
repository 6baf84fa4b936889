"""A template as a page to read: what CloudFormation is asked for, without what any edit of the sources changes."""

import json
import re
from collections.abc import Set
from typing import Any

import yaml

_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_OF_CDK = ("AWS::CDK::Metadata",)
_WIDTH = 120


def page(template: dict[str, Any], pinned: Set[str]) -> str:
    """The resources and outputs as YAML, references written `${Resource.Attribute}`, JSON in strings as YAML too.

    Hashes are replaced, for they are of the sources' content; those of the settings, `pinned`, stay.
    """
    resources = {
        name: {key: _flat(value) for key, value in resource.items() if key != "Metadata"}
        for name, resource in template["Resources"].items()
        if resource["Type"] not in _OF_CDK
    }
    told = {"Resources": resources, "Outputs": _flat(template.get("Outputs", {}))}
    text = yaml.safe_dump(told, sort_keys=True, default_flow_style=None, allow_unicode=True, width=_WIDTH)
    return _HASH.sub(lambda match: match[0] if match[0] in pinned else "<hash>", text)


def hashes(text: str) -> set[str]:
    """The hashes that a text pins."""
    return set(_HASH.findall(text))


def _flat(value: Any) -> Any:
    """References as strings and JSON as what it says, at any depth."""
    match value:
        case list():
            return [_flat(one) for one in value]
        case dict():
            return _referred({key: _flat(one) for key, one in value.items()})
        case str() if value.startswith("{"):
            return _parsed(value)
        case _:
            return value


def _referred(flat: dict[str, Any]) -> Any:
    match flat:
        case {"Ref": name}:
            return f"${{{name}}}"
        case {"Fn::GetAtt": [str(resource), str(attribute)]}:
            return f"${{{resource}.{attribute}}}"
        case {"Fn::Join": ["", list(parts)]} if all(isinstance(part, str) for part in parts):
            return _parsed("".join(parts))
        case {"Fn::Select": [index, {"Fn::Split": [":", str(of)]}]}:
            return f"${{part {index} of {of[2:-1]}}}"
        case _:
            return flat


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text.startswith("{") else text
    except json.JSONDecodeError:
        return text
