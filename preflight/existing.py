"""What the settings say the account has already: whether it is there, and whether a deployment can use it."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

from decision_constructs.security_settings import Network
from decision_constructs.settings import Settings
from preflight.line import Line

_NO_ALARMS = "Make it first, or take it from rollback_alarms: SageMaker refuses a name that it does not find."
Check = Callable[[], Line]


def lines(settings: Settings, session: botocore.session.Session) -> Iterator[Line]:
    """A line for each thing named; one that may not be looked at does not keep the others from being told."""

    def client(service: str) -> Any:
        return session.create_client(service, region_name=settings.region)

    for what, check in (*_stored(settings, client), *_allowed(settings, client), *_watched(settings, client)):
        try:
            yield check()
        except (BotoCoreError, ClientError) as error:
            yield Line(what, str(error), "Correct the settings, make it, or let who deploys look at it.")


def _stored(settings: Settings, client: Callable[[str], Any]) -> Iterator[tuple[str, Check]]:
    existing, decision, key = settings.existing, settings.decision, settings.encryption.key_arn
    captures = [endpoint.data_capture for endpoint in settings.endpoints.values() if endpoint.data_capture]
    captured = [capture.uri.removeprefix("s3://").partition("/")[0] for capture in captures if capture.uri]
    for name in dict.fromkeys((existing.bucket, existing.access_log_bucket, *captured)):
        if name:
            yield "bucket", partial(bucket_line, name, settings.region, client("s3"))
    if existing.repository:
        yield "repository", partial(repository_line, existing.repository, client("ecr"))
        if decision and decision.image_digest:
            yield "image", partial(pushed_image_line, existing.repository, decision.image_digest, client("ecr"))
    if key:
        yield "key", partial(key_line, key, client("kms"))


def _allowed(settings: Settings, client: Callable[[str], Any]) -> Iterator[tuple[str, Check]]:
    roles = {
        "sagemaker.amazonaws.com": settings.existing.endpoint_role,
        "codebuild.amazonaws.com": settings.existing.build_role,
    }
    for service, arn in roles.items():
        if arn:
            yield "role", partial(role_line, arn, service, client("iam"))
    if settings.network:
        yield "network", partial(network_line, settings.network, client("ec2"))


def _watched(settings: Settings, client: Callable[[str], Any]) -> Iterator[tuple[str, Check]]:
    if settings.monitoring.topic_arn:
        yield "topic", partial(topic_line, settings.monitoring.topic_arn, client("sns"))
    named = {name for endpoint in settings.endpoints.values() for name in endpoint.updates.rollback_alarms}
    for name in sorted(named):
        yield "alarm", partial(alarm_line, name, client("cloudwatch"))


def bucket_line(name: str, region: str, s3: Any) -> Line:
    """Whether the bucket is there, in the environment's region."""
    found = s3.head_bucket(Bucket=name).get("BucketRegion", region)
    todo = None if found == region else f"The environment is in {region}: name a bucket there."
    return Line("bucket", f"{name} is in {found}", todo)


def repository_line(name: str, ecr: Any) -> Line:
    """Whether the repository is there and never moves a tag."""
    [found] = ecr.describe_repositories(repositoryNames=[name])["repositories"]
    still = found["imageTagMutability"].startswith("IMMUTABLE")
    todo = f"Run aws ecr put-image-tag-mutability --repository-name {name} --image-tag-mutability IMMUTABLE."
    return Line("repository", f"{name} {'keeps its tags' if still else 'lets tags move'}", None if still else todo)


def pushed_image_line(repository: str, digest: str, ecr: Any) -> Line:
    """Whether the repository has the decision image."""
    ecr.describe_images(repositoryName=repository, imageIds=[{"imageDigest": digest}])
    return Line("image", f"{repository}@{digest} is there")


def key_line(arn: str, kms: Any) -> Line:
    """Whether the key is enabled and encrypts."""
    found = kms.describe_key(KeyId=arn)["KeyMetadata"]
    state, spec = found["KeyState"], found["KeySpec"]
    usable = (state, spec) == ("Enabled", "SYMMETRIC_DEFAULT")
    return Line("key", f"{arn} is {state}, {spec}", None if usable else "Enable it, or name a symmetric key.")


def role_line(arn: str, service: str, iam: Any) -> Line:
    """Whether the role is there and trusts the service."""
    role = iam.get_role(RoleName=arn.rpartition("/")[2])["Role"]
    if role["Arn"] != arn:
        return Line("role", f"{arn} is not in this account, which has {role['Arn']}", "Correct the ARN.")
    statements = role["AssumeRolePolicyDocument"]["Statement"]
    statements = [statements] if isinstance(statements, dict) else statements
    trusted = any(one["Effect"] == "Allow" and service in _services(one) for one in statements)
    told = f"{arn} {'trusts' if trusted else 'does not trust'} {service}"
    return Line("role", told, None if trusted else "Let that service assume it, in its trust policy.")


def _services(statement: dict[str, Any]) -> list[str]:
    named = statement.get("Principal", {})
    services = named.get("Service", []) if isinstance(named, dict) else []
    return [services] if isinstance(services, str) else services


def network_line(network: Network, ec2: Any) -> Line:
    """Whether subnets and security groups are there, in one VPC."""

    def found(operation: str, answer: str, key: str, name: str, ids: tuple[str, ...]) -> dict[str, str]:
        told = getattr(ec2, operation)(Filters=[{"Name": name, "Values": [*ids]}])[answer]
        return {one[key]: one["VpcId"] for one in told}

    subnets = found("describe_subnets", "Subnets", "SubnetId", "subnet-id", network.subnet_ids)
    groups = found("describe_security_groups", "SecurityGroups", "GroupId", "group-id", network.security_group_ids)
    missing = sorted({*network.subnet_ids, *network.security_group_ids} - {*subnets, *groups})
    vpcs = sorted({*subnets.values(), *groups.values()})
    if missing:
        return Line("network", f"not there: {', '.join(missing)}", "Correct [network]: they are looked for by id.")
    if len(vpcs) > 1:
        return Line("network", f"in several VPCs: {', '.join(vpcs)}", "Choose subnets and groups of one VPC.")
    return Line("network", f"subnets and security groups are in {vpcs[0]}")


def topic_line(arn: str, sns: Any) -> Line:
    """Whether the topic is there."""
    sns.get_topic_attributes(TopicArn=arn)
    return Line("topic", f"{arn} is there")


def alarm_line(name: str, cloudwatch: Any) -> Line:
    """Whether an alarm that takes updates back is there."""
    kinds = ["MetricAlarm", "CompositeAlarm"]
    found = cloudwatch.describe_alarms(AlarmNames=[name], AlarmTypes=kinds)
    there = any(found.get(f"{kind}s") for kind in kinds)
    return Line("alarm", f"{name} is {'there' if there else 'not there'}", None if there else _NO_ALARMS)
