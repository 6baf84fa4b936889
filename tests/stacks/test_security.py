"""What the templates allow, encrypt, isolate and keep."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_cdk.assertions import Match, Template

from tests.stacks.conftest import ENVIRONMENTS

Templates = Callable[[str, str], Template]
Synthesize = Callable[[str], Path]

KNOWS_NO_RESOURCE = {
    "cloudwatch:PutMetricData",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ecr-public:GetAuthorizationToken",
    "ecr:GetAuthorizationToken",
    # CloudWatch Logs' delivery of a state machine's log
    "logs:CreateLogDelivery",
    "logs:CreateLogStream",
    "logs:DeleteLogDelivery",
    "logs:DescribeLogGroups",
    "logs:DescribeResourcePolicies",
    "logs:GetLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutLogEvents",
    "logs:PutResourcePolicy",
    "logs:UpdateLogDelivery",
    # what a login to the public registry takes
    "sts:GetServiceBearerToken",
}
KEY = {"Fn::GetAtt": [Match.string_like_regexp("^Key"), "Arn"]}
EXISTING_KEY = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def resources(template: Template, kind: str) -> dict[str, Any]:
    return dict(template.find_resources(kind))


def statements(template: Template) -> Iterator[tuple[str, list[str], list[Any]]]:
    """Name, actions and resources of each statement that a role has."""
    for name, policy in resources(template, "AWS::IAM::Policy").items():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            actions, bounds = statement["Action"], statement["Resource"]
            yield (
                name,
                actions if isinstance(actions, list) else [actions],
                bounds if isinstance(bounds, list) else [bounds],
            )


def templates_of(template: Templates, environment: str) -> Iterator[Template]:
    for stack in ("Artifacts", "Endpoints"):
        yield template(environment, stack)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_no_action_is_a_wildcard_and_only_actions_without_resources_have_them_all(
    template: Templates, environment: str
) -> None:
    for one in templates_of(template, environment):
        for name, actions, bounds in statements(one):
            assert not [action for action in actions if "*" in action], name
            if "*" in bounds:
                assert set(actions) <= KNOWS_NO_RESOURCE, name


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_no_role_has_a_policy_that_somebody_else_may_change(template: Templates, environment: str) -> None:
    for one in templates_of(template, environment):
        for name, role in resources(one, "AWS::IAM::Role").items():
            if not name.startswith("CustomS3AutoDelete"):  # CDK's own, which takes no role
                assert "ManagedPolicyArns" not in role["Properties"], name


def acknowledged(assembly: Path) -> Iterator[tuple[str, str]]:
    """Rule and reason of each acknowledgement."""
    for file in assembly.glob("*.metadata.json"):
        for entries in json.loads(file.read_text()).values():
            for entry in entries:
                if entry["type"] == "aws:cdk:acknowledged-rules":
                    yield from entry["data"].items()


def flat(value: Any) -> str:
    match value:
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Fn::Join": ["", parts]}:
            return "".join(flat(part) for part in parts)
        case _:
            return str(value)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_each_acknowledgement_has_a_reason_and_is_of_something_that_is_there(
    template: Templates, synthesize: Synthesize, environment: str
) -> None:
    bounds = {
        flat(bound) for one in templates_of(template, environment) for _, _, some in statements(one) for bound in some
    }
    found = list(acknowledged(synthesize(environment)))
    assert found
    for rule, reason in found:
        assert len(reason.split()) > 4, rule
        if "[Resource::" in rule:
            assert rule.partition("[Resource::")[2].removesuffix("]") in bounds


def test_a_wildcard_without_a_reason_stops_the_synthesis(app: Path, repository_root: Path, tmp_path: Path) -> None:
    careless = tmp_path / "careless.py"
    careless.write_text(
        (app / "app.py")
        .read_text()
        .replace(
            "    cdk.Validations",
            "    from aws_cdk import aws_iam as iam\n"
            "    role = iam.Role(artifacts, 'Careless', assumed_by=iam.AccountRootPrincipal())\n"
            "    role.add_to_policy(iam.PolicyStatement(actions=['s3:*'], resources=['*']))\n"
            "    cdk.Validations",
        )
        .replace("Path(__file__).parent", f"Path({str(app)!r})")
    )
    context = json.loads((repository_root / "cdk.json").read_text())["context"]
    process = subprocess.run(
        [sys.executable, str(careless)],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PYTHONPATH": f"{repository_root}:{repository_root / 'constructs'}",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
            "CDK_OUTDIR": str(tmp_path / "out"),
            "CDK_CONTEXT_JSON": json.dumps({**context, "env": "local"}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert "AwsSolutions-IAM5[Action::s3:*]" in process.stderr
    assert "Mend each finding, or acknowledge it with its reason (docs/security.md)." in process.stderr
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_log_is_kept_for_a_time_and_goes_with_the_stack(template: Templates, environment: str) -> None:
    for one in templates_of(template, environment):
        groups = resources(one, "AWS::Logs::LogGroup")
        for group in groups.values():
            assert group["Properties"]["RetentionInDays"]
            assert group["DeletionPolicy"] == "Delete"
        for name, function in resources(one, "AWS::Lambda::Function").items():
            assert function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"] in groups, name


def test_an_endpoint_s_log_group_is_there_first_and_nobody_makes_it_anew(template: Templates) -> None:
    endpoints = template("dev", "Endpoints")
    for contract in ("Chat", "Decision"):
        (endpoint,) = [
            one for name, one in resources(endpoints, "AWS::SageMaker::Endpoint").items() if contract in name
        ]
        groups = {
            name: one["Properties"]["LogGroupName"]
            for name, one in resources(endpoints, "AWS::Logs::LogGroup").items()
            if contract in name
        }
        assert list(groups.values()) == [f"/aws/sagemaker/Endpoints/{endpoint['Properties']['EndpointName']}"]
        assert set(groups) <= set(endpoint["DependsOn"])


def test_only_the_group_of_all_transform_jobs_may_be_made_by_what_writes_to_it(template: Templates) -> None:
    makers = [
        (name, [flat(bound) for bound in bounds])
        for name, actions, bounds in statements(template("dev", "Endpoints"))
        if "logs:CreateLogGroup" in actions
    ]
    [(name, [group])] = makers
    assert name.startswith("Batch")
    assert group.endswith(":log-group:/aws/sagemaker/TransformJobs")


@pytest.mark.parametrize("environment", ["local", "dev", "prod", "guarded"])
def test_images_are_refused_without_tls_and_old_ones_go(template: Templates, environment: str) -> None:
    (repository,) = resources(template(environment, "Artifacts"), "AWS::ECR::Repository").values()
    (statement,) = repository["Properties"]["RepositoryPolicyText"]["Statement"]
    assert statement == {
        "Action": "ecr:*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
    }
    rules = json.loads(repository["Properties"]["LifecyclePolicy"]["LifecyclePolicyText"])["rules"]
    assert [(one["selection"]["tagStatus"], one["selection"]["countNumber"]) for one in rules] == [
        ("untagged", 7),
        ("tagged", 50),
        ("any", 50),
    ]
    assert rules[1]["selection"]["tagPrefixList"] == ["copy-"]  # counted alone: builds push out no copy in use


def test_one_key_encrypts_archives_images_logs_builds_and_captured_data(template: Templates) -> None:
    artifacts, endpoints = templates_of(template, "guarded")
    artifacts.has_resource_properties("AWS::KMS::Key", {"EnableKeyRotation": True})
    algorithm = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}
    artifacts.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [
                    {"BucketKeyEnabled": True, "ServerSideEncryptionByDefault": algorithm}
                ]
            }
        },
    )
    encryption = {"EncryptionType": "KMS", "KmsKey": KEY}
    artifacts.has_resource_properties("AWS::ECR::Repository", {"EncryptionConfiguration": encryption})
    artifacts.all_resources_properties("AWS::Logs::LogGroup", {"KmsKeyId": KEY})
    artifacts.all_resources_properties("AWS::CodeBuild::Project", {"EncryptionKey": KEY})
    endpoints.all_resources_properties("AWS::Logs::LogGroup", {"KmsKeyId": Match.any_value()})
    for config in resources(endpoints, "AWS::SageMaker::EndpointConfig").values():
        assert config["Properties"]["DataCaptureConfig"]["KmsKeyId"]


def test_a_volume_has_the_key_unless_the_disk_is_the_instance_s_own(template: Templates) -> None:
    configs = resources(template("guarded", "Endpoints"), "AWS::SageMaker::EndpointConfig")
    keys = {name[:4]: config["Properties"].get("KmsKeyId") for name, config in configs.items()}
    assert keys["Chat"]
    assert keys["Deci"] is None  # g6 and g5 have NVMe disks: SageMaker refuses a key there


def test_containers_run_in_the_subnets_and_groups_of_the_settings(template: Templates) -> None:
    endpoints = template("guarded", "Endpoints")
    endpoints.all_resources_properties(
        "AWS::SageMaker::Model",
        {"VpcConfig": {"Subnets": ["subnet-0a1b2c3d", "subnet-0a1b2c3e"], "SecurityGroupIds": ["sg-0a1b2c3d"]}},
    )
    interfaces = [bounds for _, actions, bounds in statements(endpoints) if "ec2:CreateNetworkInterface" in actions]
    assert interfaces
    assert all("*" not in bounds for bounds in interfaces)


def test_captured_data_goes_below_a_prefix_that_is_emptied_or_where_the_settings_say(template: Templates) -> None:
    artifacts, endpoints = templates_of(template, "guarded")
    captured = {
        name[:4]: config["Properties"]["DataCaptureConfig"]
        for name, config in resources(endpoints, "AWS::SageMaker::EndpointConfig").items()
    }
    assert captured["Chat"]["DestinationS3Uri"] == "s3://captured/chat"
    assert captured["Chat"]["InitialSamplingPercentage"] == 100
    assert captured["Deci"]["DestinationS3Uri"]["Fn::Join"][1][-1] == "/data-capture/decision"
    assert captured["Deci"]["CaptureOptions"] == [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}]
    artifacts.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "LifecycleConfiguration": {
                "Rules": Match.array_with(
                    [Match.object_like({"Prefix": "data-capture/decision/", "ExpirationInDays": 30})]
                )
            }
        },
    )


def test_what_the_account_has_already_is_used_and_not_made(template: Templates) -> None:
    artifacts, endpoints = templates_of(template, "lodger")
    for kind in ("AWS::S3::Bucket", "AWS::ECR::Repository", "AWS::KMS::Key"):
        artifacts.resource_count_is(kind, 0)
    endpoints.resource_count_is("AWS::IAM::Role", 0)
    artifacts.all_resources_properties(
        "AWS::CodeBuild::Project", {"ServiceRole": "arn:aws:iam::111122223333:role/models/build"}
    )
    endpoints.resource_count_is("AWS::CloudWatch::Dashboard", 0)
    endpoints.has_resource_properties(
        "AWS::SageMaker::Model", {"ExecutionRoleArn": "arn:aws:iam::111122223333:role/models/endpoint"}
    )
    endpoints.has_resource_properties("AWS::SageMaker::EndpointConfig", {"KmsKeyId": EXISTING_KEY})
    builds = resources(artifacts, "Custom::Build").values()
    assert {one["Properties"].get("Bucket") for one in builds} == {"platform-models", None}
    assert {one["Properties"].get("RepositoryName") for one in builds} == {"platform/models", None}


def test_an_archive_and_an_image_that_are_there_are_served_and_nothing_is_built(template: Templates) -> None:
    artifacts, endpoints = templates_of(template, "packed")
    artifacts.resource_count_is("Custom::Build", 0)
    artifacts.resource_count_is("AWS::CodeBuild::Project", 0)
    artifacts.resource_count_is("AWS::S3::Bucket", 0)
    artifacts.resource_count_is("AWS::Lambda::Function", 0)
    published = {
        one["Properties"]["Name"].rpartition("/")[2]: json.dumps(one["Properties"]["Value"])
        for one in resources(artifacts, "AWS::SSM::Parameter").values()
    }
    assert published["model-data-url"] == '"s3://platform-models/packed/model.tar.gz"'
    assert f"/platform/models@sha256:{'1' * 64}" in published["decision-image-uri"]
    read = [flat(bounds[0]) for _, actions, bounds in statements(endpoints) if actions == ["s3:GetObject"]]
    assert set(read) == {"arn:<AWS::Partition>:s3:::platform-models/packed/model.tar.gz"}


def test_a_model_that_does_not_fit_into_a_pool_s_gpu_is_warned_of(synthesize: Synthesize) -> None:
    metadata = json.loads((synthesize("guarded") / "Endpoints.metadata.json").read_text())
    told = [entry["data"] for entries in metadata.values() for entry in entries if entry["type"] == "aws:cdk:warning"]
    assert len([one for one in told if "of GPU memory; the model takes 27.9 GiB" in one]) == 2  # g6 and g5: 24 GiB


def test_an_image_for_graviton_is_built_on_graviton(template: Templates) -> None:
    projects = resources(template("lodger", "Artifacts"), "AWS::CodeBuild::Project").values()
    built = {
        variable["Value"]: project["Properties"]["Environment"]["Type"]
        for project in projects
        for variable in project["Properties"]["Environment"]["EnvironmentVariables"]
        if variable["Name"] == "IMAGE_PLATFORM"
    }
    assert built == {"linux/arm64": "ARM_CONTAINER", "linux/amd64": "LINUX_CONTAINER"}
