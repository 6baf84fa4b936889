"""A destroyed environment leaves nothing, and can be deployed again."""

import json

from local_cloud import Cloud, demo, deployment

STACKS = ("decision-endpoints-local-artifacts", "decision-endpoints-local-endpoints")


def made_by_the_stacks(cloud: Cloud) -> set[str]:
    """Names or ARNs of the stacks and of what they made, in lower case, as SageMaker's ARNs are."""
    cloudformation = deployment.client(cloud, "cloudformation")
    resources = [
        one for name in STACKS for one in cloudformation.describe_stack_resources(StackName=name)["StackResources"]
    ]
    return {*STACKS, *(one["PhysicalResourceId"].lower() for one in resources)}


def what_is_there(cloud: Cloud) -> dict[str, set[str]]:
    """Names in the account, by kind."""

    def names(service: str, operation: str, items: str, name: str, **arguments: object) -> set[str]:
        answer = getattr(deployment.client(cloud, service), operation)(**arguments)
        return {one[name] if name else one for one in answer[items]}

    return {
        "stacks": names("cloudformation", "describe_stacks", "Stacks", "StackName"),
        "endpoints": names("sagemaker", "list_endpoints", "Endpoints", "EndpointName"),
        "configs": names("sagemaker", "list_endpoint_configs", "EndpointConfigs", "EndpointConfigName"),
        "models": names("sagemaker", "list_models", "Models", "ModelName"),
        "buckets": names("s3", "list_buckets", "Buckets", "Name"),
        "repositories": names("ecr", "describe_repositories", "repositories", "repositoryName"),
        "projects": names("codebuild", "list_projects", "projects", ""),
        "alarms": names("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
        "log groups": names("logs", "describe_log_groups", "logGroups", "logGroupName"),
        "parameters": names(
            "ssm", "get_parameters_by_path", "Parameters", "Name", Path="/decision-endpoints", Recursive=True
        ),
    }


def test_nothing_stays_of_a_destroyed_environment_and_it_deploys_again(cloud: Cloud, endpoints: dict[str, str]) -> None:
    made = made_by_the_stacks(cloud)
    ours = {
        kind: {name for name in names if any(identifier.endswith(name.lower()) for identifier in made)}
        for kind, names in what_is_there(cloud).items()
    }
    assert all(ours.values()), ours

    deployment.destroy(cloud)

    left = {kind: names & ours[kind] for kind, names in what_is_there(cloud).items()}
    assert not any(left.values()), left

    deployment.deploy(cloud)

    answer = deployment.client(cloud, "sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoints["decision"], ContentType="application/json", Body=json.dumps(demo.ONE_DECISION)
    )
    assert json.load(answer["Body"])["result"]["option_ids"]
