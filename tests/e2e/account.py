"""What is in the account, and what of it an environment has made."""

from local_cloud import Cloud, deployment


def stacks(environment: str) -> tuple[str, str]:
    return f"decision-endpoints-{environment}-artifacts", f"decision-endpoints-{environment}-endpoints"


def made_by(cloud: Cloud, environment: str) -> set[str]:
    """Names or ARNs of the stacks and of what they made, in lower case, as SageMaker's ARNs are."""
    cloudformation = deployment.client(cloud, "cloudformation")
    resources = [
        one
        for name in stacks(environment)
        for one in cloudformation.describe_stack_resources(StackName=name)["StackResources"]
        if one["ResourceType"] != "AWS::CDK::Metadata"  # nothing is made of it
    ]
    return {*stacks(environment), *(one["PhysicalResourceId"].lower() for one in resources)}


def what_is_there(cloud: Cloud) -> dict[str, set[str]]:
    """Names in the account, by kind."""

    def names(service: str, operation: str, items: str, name: str, **arguments: object) -> set[str]:
        answer = getattr(deployment.client(cloud, service), operation)(**arguments)
        return {one[name] if name else one for one in answer[items]}

    groups = names("logs", "describe_log_groups", "logGroups", "logGroupName")
    return {
        "stacks": names("cloudformation", "describe_stacks", "Stacks", "StackName"),
        "endpoints": names("sagemaker", "list_endpoints", "Endpoints", "EndpointName"),
        "configs": names("sagemaker", "list_endpoint_configs", "EndpointConfigs", "EndpointConfigName"),
        "models": names("sagemaker", "list_models", "Models", "ModelName"),
        "buckets": names("s3", "list_buckets", "Buckets", "Name"),
        "repositories": names("ecr", "describe_repositories", "repositories", "repositoryName"),
        "projects": names("codebuild", "list_projects", "projects", ""),
        "alarms": names("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
        # the local cloud's builds write to groups of CodeBuild's own, which are no stack's
        "log groups": {name for name in groups if not name.startswith("/aws/codebuild/")},
        "parameters": names(
            "ssm", "get_parameters_by_path", "Parameters", "Name", Path="/decision-endpoints", Recursive=True
        ),
    }
