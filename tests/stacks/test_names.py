"""What has a fixed name has the environment's in it: two environments of one account share nothing."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aws_cdk.assertions import Template

from tests.stacks.conftest import ENVIRONMENTS

Templates = Callable[[str, str], Template]
NO_NAMES_IN_THE_ACCOUNT = {
    ("AWS::ApplicationAutoScaling::ScalingPolicy", "PolicyName"),
    ("AWS::CloudWatch::Alarm", "MetricName"),
    ("AWS::IAM::Policy", "PolicyName"),
}
"""They end with Name; a metric and a scaling policy are their endpoint's, and other policies their role's."""


def fixed_names(template: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Kind and name of each resource that is not named by CloudFormation, and of each export."""
    for resource in template["Resources"].values():
        for key, value in resource.get("Properties", {}).items():
            named = key.endswith("Name") and (resource["Type"], key) not in NO_NAMES_IN_THE_ACCOUNT
            if named and not refers_to_what_is_made(value):
                yield resource["Type"], json.dumps(value)
    for output in template.get("Outputs", {}).values():
        if "Export" in output:
            yield "export", json.dumps(output["Export"]["Name"])


def refers_to_what_is_made(value: Any) -> bool:
    return isinstance(value, dict) and bool({"Ref", "Fn::GetAtt"} & value.keys())


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_fixed_name_has_the_environment_s_in_it(template: Templates, environment: str) -> None:
    names = [
        name for stack in ("Artifacts", "Endpoints") for name in fixed_names(template(environment, stack).to_json())
    ]
    kinds = {kind for kind, _ in names}
    assert kinds >= {
        "AWS::SageMaker::Endpoint",
        "AWS::Logs::LogGroup",
        "AWS::CloudWatch::Alarm",
        "AWS::SSM::Parameter",
    }
    for kind, name in names:
        existing = kind == "Custom::Build" and name == '"platform/models"'  # where the account has a repository already
        assert existing or re.search(rf"[-/]{environment}[-/\"]", name), (kind, name)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_nothing_is_exported_from_a_stack(template: Templates, environment: str) -> None:
    for stack in ("Artifacts", "Endpoints"):
        assert "export" not in dict(fixed_names(template(environment, stack).to_json()))
