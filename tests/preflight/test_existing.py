"""What the settings say the account has already."""

from pathlib import Path
from typing import Any

import pytest

from preflight import existing
from preflight.line import Line
from tests.preflight.conftest import SHA256, StubbedSession, load

CPU = '[decision]\ninstance_type = "ml.c6i.large"\n'
ROLE = "arn:aws:iam::111122223333:role/models/endpoint"
KEY = "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
TOPIC = "arn:aws:sns:us-east-1:111122223333:on-call"
DIGEST = f"sha256:{SHA256}"


@pytest.fixture
def told(aws: StubbedSession, tmp_path: Path) -> Any:
    def lines(text: str) -> list[Line]:
        return list(existing.lines(load(tmp_path, text), aws))

    return lines


def role(arn: str = ROLE, service: str | list[str] = "sagemaker.amazonaws.com") -> dict[str, Any]:
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]}
    return {
        "Role": {
            "Arn": arn,
            "Path": "/models/",
            "RoleName": "endpoint",
            "RoleId": "AROA1234567890123456",
            "CreateDate": 0,
            "AssumeRolePolicyDocument": str(trust).replace("'", '"'),
        }
    }


def repository(mutability: str) -> dict[str, Any]:
    return {"repositories": [{"repositoryName": "mine", "imageTagMutability": mutability}]}


def test_nothing_is_asked_of_an_environment_that_uses_nothing_of_the_account(told: Any) -> None:
    assert told(CPU) == []


def test_everything_that_is_named_has_a_line(aws: StubbedSession, told: Any) -> None:
    for bucket in ("ours", "captured"):
        aws.stubbed("s3").add_response("head_bucket", {"BucketRegion": "us-east-1"}, {"Bucket": bucket})
    aws.stubbed("ecr").add_response("describe_repositories", repository("IMMUTABLE"), {"repositoryNames": ["mine"]})
    asked = {"repositoryName": "mine", "imageIds": [{"imageDigest": DIGEST}]}
    aws.stubbed("ecr").add_response("describe_images", {"imageDetails": [{}]}, asked)
    key = {"KeyId": "1234", "KeyState": "Enabled", "KeySpec": "SYMMETRIC_DEFAULT"}
    aws.stubbed("kms").add_response("describe_key", {"KeyMetadata": key}, {"KeyId": KEY})
    aws.stubbed("iam").add_response("get_role", role(), {"RoleName": "endpoint"})
    aws.stubbed("iam").add_response("get_role", role(service=["codebuild.amazonaws.com"]), {"RoleName": "endpoint"})
    subnets = [{"SubnetId": "subnet-1", "VpcId": "vpc-1"}, {"SubnetId": "subnet-2", "VpcId": "vpc-1"}]
    aws.stubbed("ec2").add_response("describe_subnets", {"Subnets": subnets})
    groups = [{"GroupId": "sg-1", "VpcId": "vpc-1"}]
    aws.stubbed("ec2").add_response("describe_security_groups", {"SecurityGroups": groups})
    aws.stubbed("sns").add_response("get_topic_attributes", {"Attributes": {}}, {"TopicArn": TOPIC})
    alarms = {"MetricAlarms": [{"AlarmName": "checkout-errors"}]}
    aws.stubbed("cloudwatch").add_response("describe_alarms", alarms)

    lines = told(
        f"""
        [network]
        subnet_ids = ["subnet-1", "subnet-2"]
        security_group_ids = ["sg-1"]
        [encryption]
        kms_key = "{KEY}"
        [existing]
        bucket = "ours"
        repository = "mine"
        endpoint_role = "{ROLE}"
        build_role = "{ROLE}"
        [monitoring]
        topic_arn = "{TOPIC}"
        {CPU}
        image_digest = "{DIGEST}"
        [decision.updates]
        rollback_alarms = ["checkout-errors"]
        [decision.data_capture]
        percentage = 1
        uri = "s3://captured/here"
        """
    )

    assert [str(line) for line in lines] == [
        "  ok  bucket: ours is in us-east-1",
        "  ok  bucket: captured is in us-east-1",
        "  ok  repository: mine keeps its tags",
        f"  ok  image: mine@{DIGEST} is there",
        f"  ok  key: {KEY} is Enabled, SYMMETRIC_DEFAULT",
        f"  ok  role: {ROLE} trusts sagemaker.amazonaws.com",
        f"  ok  role: {ROLE} trusts codebuild.amazonaws.com",
        "  ok  network: subnets and security groups are in vpc-1",
        f"  ok  topic: {TOPIC} is there",
        "  ok  alarm: checkout-errors is there",
    ]


def test_what_is_not_there_is_told_and_the_rest_is_still_looked_at(aws: StubbedSession, told: Any) -> None:
    aws.stubbed("s3").add_client_error("head_bucket", "404", "Not Found")
    aws.stubbed("ecr").add_client_error("describe_repositories", "RepositoryNotFoundException")
    aws.stubbed("ecr").add_client_error("describe_images", "ImageNotFoundException", "no such digest")
    aws.stubbed("iam").add_client_error("get_role", "AccessDenied")
    existing_things = f'[existing]\nbucket = "ours"\nrepository = "mine"\nendpoint_role = "{ROLE}"\n'
    lines = told(f'{existing_things}{CPU}image_digest = "{DIGEST}"\n')
    assert [line.what for line in lines] == ["bucket", "repository", "image", "role"]
    assert "no such digest" in lines[2].found
    assert {line.todo for line in lines} == {"Correct the settings, make it, or let who deploys look at it."}


@pytest.mark.parametrize(
    ("text", "reply", "line"),
    [
        (
            '[existing]\nbucket = "ours"\n',
            ("s3.head_bucket", {"BucketRegion": "eu-west-1"}),
            "TODO  bucket: ours is in eu-west-1. The environment is in us-east-1: name a bucket there.",
        ),
        (
            '[existing]\nrepository = "mine"\n',
            ("ecr.describe_repositories", repository("MUTABLE")),
            "TODO  repository: mine lets tags move. "
            "Run aws ecr put-image-tag-mutability --repository-name mine --image-tag-mutability IMMUTABLE.",
        ),
        (
            f'[encryption]\nkms_key = "{KEY}"\n',
            (
                "kms.describe_key",
                {"KeyMetadata": {"KeyId": "1234", "KeyState": "Disabled", "KeySpec": "SYMMETRIC_DEFAULT"}},
            ),
            f"TODO  key: {KEY} is Disabled, SYMMETRIC_DEFAULT. Enable it, or name a symmetric key.",
        ),
        (
            f'[existing]\nendpoint_role = "{ROLE}"\n',
            ("iam.get_role", role(service="ec2.amazonaws.com")),
            f"TODO  role: {ROLE} does not trust sagemaker.amazonaws.com. "
            "Let that service assume it, in its trust policy.",
        ),
        (
            f'[existing]\nendpoint_role = "{ROLE}"\n',
            ("iam.get_role", role("arn:aws:iam::999988887777:role/models/endpoint")),
            f"TODO  role: {ROLE} is not in this account, which has arn:aws:iam::999988887777:role/models/endpoint. "
            "Correct the ARN.",
        ),
        (
            '[decision.updates]\nrollback_alarms = ["checkout-errors"]\n',
            ("cloudwatch.describe_alarms", {"MetricAlarms": []}),
            "TODO  alarm: checkout-errors is not there. "
            "Make it first, or take it from rollback_alarms: SageMaker refuses a name that it does not find.",
        ),
    ],
)
def test_what_cannot_be_used_comes_with_what_to_do(
    aws: StubbedSession, told: Any, text: str, reply: tuple[str, dict[str, Any]], line: str
) -> None:
    asked, answer = reply
    service, _, operation = asked.partition(".")
    aws.stubbed(service).add_response(operation, answer)
    assert [str(one) for one in told(text + CPU)] == [line]


@pytest.mark.parametrize(
    ("subnets", "groups", "line"),
    [
        (
            {"subnet-1": "vpc-1"},
            {},
            "TODO  network: not there: sg-1, subnet-2. Correct [network]: they are looked for by id.",
        ),
        (
            {"subnet-1": "vpc-1", "subnet-2": "vpc-1"},
            {"sg-1": "vpc-2"},
            "TODO  network: in several VPCs: vpc-1, vpc-2. Choose subnets and groups of one VPC.",
        ),
    ],
)
def test_subnets_and_groups_have_to_be_there_and_in_one_vpc(
    aws: StubbedSession, told: Any, subnets: dict[str, str], groups: dict[str, str], line: str
) -> None:
    ec2 = aws.stubbed("ec2")
    ec2.add_response(
        "describe_subnets",
        {"Subnets": [{"SubnetId": name, "VpcId": vpc} for name, vpc in subnets.items()]},
        {"Filters": [{"Name": "subnet-id", "Values": ["subnet-1", "subnet-2"]}]},
    )
    ec2.add_response(
        "describe_security_groups",
        {"SecurityGroups": [{"GroupId": name, "VpcId": vpc} for name, vpc in groups.items()]},
        {"Filters": [{"Name": "group-id", "Values": ["sg-1"]}]},
    )
    vpc = '[network]\nsubnet_ids = ["subnet-1", "subnet-2"]\nsecurity_group_ids = ["sg-1"]\n'
    assert [str(one) for one in told(vpc + CPU)] == [line]
