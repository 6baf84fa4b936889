"""Findings of cdk-nag that stay: each with its reason, beside the construct it is about.

cdk-nag checks every synthesis (app.py). A finding that is not acknowledged here or there stops it.
"""

from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Let a finding pass on a construct and what is in it; `rule` reads like `AwsSolutions-SF2`."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))


def acknowledge_wildcard(construct: IConstruct, resource: str, reason: str) -> None:
    """Let one resource with a `*` pass in the policies of a construct; `resource` is the ARN as the policy has it."""
    finding = _flat(Stack.of(construct).resolve(resource))
    acknowledge(construct, f"AwsSolutions-IAM5[Resource::{finding}]", reason)


def _flat(value: Any) -> str:
    """How cdk-nag writes an ARN in a finding: `<Ref>`, `<Resource.Attribute>`, the parts of a join in a row."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Fn::Join": [delimiter, parts]}:
            return str(delimiter).join(_flat(part) for part in parts)
        case _:
            raise ValueError(f"not an ARN that a finding can name: {value}")
