"""What an account has to have."""

from pathlib import Path

import pytest

from decision_constructs.settings import Settings
from preflight import account
from preflight.line import Line
from tests.preflight.conftest import StubbedSession, load

CPU = '[decision]\ninstance_type = "ml.c6i.large"\n'


@pytest.fixture
def chosen(tmp_path: Path) -> Settings:
    return load(tmp_path, CPU)


def signed_in(aws: StubbedSession) -> None:
    aws.stubbed("sts").add_response("get_caller_identity", {"Account": "111122223333"})


def bootstrapped(aws: StubbedSession, version: str = "30") -> None:
    aws.stubbed("ssm").add_response(
        "get_parameter", {"Parameter": {"Value": version}}, {"Name": "/cdk-bootstrap/hnb659fds/version"}
    )


def quota(aws: StubbedSession, defaults: dict[str, float], applied: dict[str, float]) -> None:
    for operation, limits in (("list_aws_default_service_quotas", defaults), ("list_service_quotas", applied)):
        found = [{"QuotaName": name, "Value": value} for name, value in limits.items()]
        aws.stubbed("service-quotas").add_response(operation, {"Quotas": found}, {"ServiceCode": "sagemaker"})


def not_deployed(aws: StubbedSession, endpoints: tuple[str, ...] = (), groups: tuple[str, ...] = ()) -> None:
    aws.stubbed("cloudformation").add_client_error("list_stack_resources", "ValidationError")
    has(aws, endpoints, groups)


def deployed(aws: StubbedSession, *physical_ids: str) -> None:
    made = [
        {
            "LogicalResourceId": "One",
            "PhysicalResourceId": physical_id,
            "ResourceType": "x",
            "LastUpdatedTimestamp": 0,
            "ResourceStatus": "CREATE_COMPLETE",
        }
        for physical_id in physical_ids
    ]
    aws.stubbed("cloudformation").add_response("list_stack_resources", {"StackResourceSummaries": made})


def has(aws: StubbedSession, endpoints: tuple[str, ...] = (), groups: tuple[str, ...] = ()) -> None:
    aws.stubbed("sagemaker").add_response(
        "list_endpoints",
        {
            "Endpoints": [
                {
                    "EndpointName": name,
                    "EndpointArn": f"arn:aws:sagemaker:us-east-1:111122223333:endpoint/{name}",
                    "CreationTime": 0,
                    "LastModifiedTime": 0,
                    "EndpointStatus": "InService",
                }
                for name in endpoints
            ]
        },
    )
    aws.stubbed("logs").add_response("describe_log_groups", {"logGroups": [{"logGroupName": name} for name in groups]})


def told(aws: StubbedSession, chosen: Settings) -> list[Line]:
    return list(account.lines("test", chosen, aws))


def test_an_account_that_has_all_is_told_line_by_line(aws: StubbedSession, chosen: Settings) -> None:
    signed_in(aws)
    bootstrapped(aws)
    quota(aws, {"ml.c6i.large for endpoint usage": 0}, {"ml.c6i.large for endpoint usage": 4})
    not_deployed(aws)
    lines = told(aws, chosen)
    assert [line.todo for line in lines] == [None] * len(lines)
    assert [str(line) for line in lines] == [
        "  ok  credentials: account 111122223333, region us-east-1",
        "  ok  bootstrap: version 30",
        "  ok  quota: ml.c6i.large for endpoint usage: 4",
        "  ok  names: endpoint decision-endpoints-test-decision is free",
        "  ok  names: log group /aws/sagemaker/Endpoints/decision-endpoints-test-decision is free",
    ]


def test_without_credentials_nothing_else_is_asked(aws: StubbedSession, chosen: Settings) -> None:
    aws.stubbed("sts").add_client_error("get_caller_identity", "ExpiredToken", "The security token is expired")
    [line] = told(aws, chosen)
    assert "The security token is expired" in line.found
    assert line.todo == "Sign in, as with aws sso login, or set AWS_PROFILE."


def test_credentials_of_another_account_are_told(aws: StubbedSession, tmp_path: Path) -> None:
    signed_in(aws)
    [line] = told(aws, load(tmp_path, CPU, top='account = "999988887777"'))
    assert (
        str(line) == "TODO  credentials: of account 111122223333. The environment is for 999988887777: set AWS_PROFILE."
    )


def test_what_is_missing_comes_with_what_to_do(aws: StubbedSession, chosen: Settings) -> None:
    signed_in(aws)
    aws.stubbed("ssm").add_client_error("get_parameter", "ParameterNotFound")
    quota(aws, {"ml.c6i.large for endpoint usage": 1}, {})
    not_deployed(aws, (f"{NAME}-2", NAME), (GROUP,))
    assert [line.todo for line in told(aws, chosen)] == [
        None,
        "Run make bootstrap ENV=test.",
        "2 are needed. Ask for them in Service Quotas, Amazon SageMaker, in us-east-1.",
        "Delete it, or give the environment another name.",
        f"Keep what it says elsewhere, then aws logs delete-log-group --log-group-name {GROUP} (docs/deploy.md).",
    ]


NAME = "decision-endpoints-test-decision"
GROUP = f"/aws/sagemaker/Endpoints/{NAME}"
ENDPOINT = f"arn:aws:sagemaker:us-east-1:111122223333:endpoint/{NAME}"


def test_an_environment_that_is_deployed_has_its_own_names(aws: StubbedSession, chosen: Settings) -> None:
    signed_in(aws)
    bootstrapped(aws, "5")
    quota(aws, {}, {"ml.c6i.large for endpoint usage": 2})
    deployed(aws, ENDPOINT, GROUP)
    has(aws, (NAME,), (GROUP,))
    lines = told(aws, chosen)
    assert lines[1] == Line("bootstrap", "version 5", "Run make bootstrap ENV=test.")
    assert lines[-2:] == [
        Line("names", f"endpoint {NAME} is the environment's own"),
        Line("names", f"log group {GROUP} is the environment's own"),
    ]


def test_a_log_group_that_sagemaker_made_before_the_stack_had_one_is_told(
    aws: StubbedSession, chosen: Settings
) -> None:
    signed_in(aws)
    bootstrapped(aws)
    quota(aws, {}, {"ml.c6i.large for endpoint usage": 2})
    deployed(aws, ENDPOINT)
    has(aws, (NAME,), (GROUP,))
    assert str(told(aws, chosen)[-1]) == (
        f"TODO  names: log group {GROUP} is there already, and the environment has not made it. Keep what it says "
        f"elsewhere, then aws logs delete-log-group --log-group-name {GROUP} (docs/deploy.md)."
    )


def test_what_may_not_be_looked_at_is_told_and_the_rest_still_is(aws: StubbedSession, chosen: Settings) -> None:
    signed_in(aws)
    bootstrapped(aws)
    aws.stubbed("service-quotas").add_client_error("list_aws_default_service_quotas", "AccessDeniedException", "no")
    not_deployed(aws)
    lines = told(aws, chosen)
    assert "AccessDeniedException" in lines[2].found
    assert lines[2].todo
    assert lines[-1].todo is None


def test_quotas_count_all_instances_of_a_type_and_those_of_an_update(tmp_path: Path) -> None:
    chosen = load(
        tmp_path,
        """
        [chat]
        instance_type = "ml.g5.2xlarge"
        instance_count = 3
        [decision]
        instance_pools = ["ml.g6.2xlarge", "ml.g5.2xlarge"]
        max_in_flight = 8
        [decision.scaling]
        max_count = 4
        target_concurrency = 2
        [batch]
        instance_type = "ml.c6i.large"
        instance_count = 10
        """,
    )
    assert account.needed_quotas(chosen) == {
        "ml.g5.2xlarge for endpoint usage": 2 * 3 + 2 * 4,
        "ml.g6.2xlarge for endpoint usage": 2 * 4,
        "ml.c6i.large for transform job usage": 10,
    }
