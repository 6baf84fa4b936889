"""What an account has to have: credentials, a bootstrapped region, quotas, free names, and what is used of it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

from decision_constructs.settings import Settings
from preflight import existing
from preflight.line import Line

BOOTSTRAP_VERSION = 6
"""The oldest that CDK deploys our templates with."""
_BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"


def lines(environment: str, settings: Settings, session: botocore.session.Session) -> Iterator[Line]:
    """Whether the environment can be deployed with the session's credentials; without any, that is all there is."""
    credentials = _credentials(settings, session)
    yield credentials
    if credentials.todo:
        return

    def client(service: str) -> Any:
        return session.create_client(service, region_name=settings.region)

    for check in (
        _bootstrap(environment, client("ssm")),
        _quotas(settings, client("service-quotas")),
        _names(environment, settings, client),
    ):
        try:
            yield from check
        except (BotoCoreError, ClientError) as error:
            yield Line("account", str(error), "Let who deploys do this, or look yourself.")
    yield from existing.lines(settings, session)


def _credentials(settings: Settings, session: botocore.session.Session) -> Line:
    sts: Any = session.create_client("sts", region_name=settings.region)
    try:
        identity = sts.get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        return Line("credentials", str(error), "Sign in, as with aws sso login, or set AWS_PROFILE.")
    account = str(identity["Account"])
    if settings.account not in (None, account):
        return Line(
            "credentials", f"of account {account}", f"The environment is for {settings.account}: set AWS_PROFILE."
        )
    return Line("credentials", f"account {account}, region {settings.region}")


def _bootstrap(environment: str, ssm: Any) -> Iterator[Line]:
    todo = f"Run make bootstrap ENV={environment}."
    try:
        version = int(ssm.get_parameter(Name=_BOOTSTRAP_PARAMETER)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        yield Line("bootstrap", "the region is not bootstrapped for CDK", todo)
    else:
        yield Line("bootstrap", f"version {version}", todo if version < BOOTSTRAP_VERSION else None)


def _quotas(settings: Settings, quotas: Any) -> Iterator[Line]:
    """What is applied in the account; where nothing is, AWS's default."""
    limits: dict[str, float] = {}
    for operation in ("list_aws_default_service_quotas", "list_service_quotas"):
        for page in quotas.get_paginator(operation).paginate(ServiceCode="sagemaker"):
            limits |= {one["QuotaName"]: one["Value"] for one in page["Quotas"]}
    for name, needed in needed_quotas(settings).items():
        limit = int(limits.get(name, 0))
        todo = f"{needed} are needed. Ask for them in Service Quotas, Amazon SageMaker, in {settings.region}."
        yield Line("quota", f"{name}: {limit}", todo if limit < needed else None)


def needed_quotas(settings: Settings) -> dict[str, int]:
    """Instances by the quota's name. An update runs as many again beside the old; each pool may take all."""
    needed: Counter[str] = Counter()
    for endpoint in settings.endpoints.values():
        most = endpoint.scaling.max_count if endpoint.scaling else endpoint.instance_count
        needed.update({f"{name} for endpoint usage": 2 * most for name in endpoint.instance_types})
    if settings.batch:
        needed[f"{settings.batch.instance_type} for transform job usage"] = settings.batch.instance_count
    return dict(needed)


def _names(environment: str, settings: Settings, client: Any) -> Iterator[Line]:
    """Fixed names that something else has already."""
    ours = _resources(f"decision-endpoints-{environment}-endpoints", client("cloudformation"))
    for contract in settings.endpoints:
        name = f"decision-endpoints-{environment}-{contract}"
        endpoints = client("sagemaker").list_endpoints(NameContains=name, MaxResults=100)["Endpoints"]
        taken = {one["EndpointName"]: one["EndpointArn"] for one in endpoints}.get(name)
        todo = "Delete it, or give the environment another name."
        yield _name("endpoint", name, taken, ours, todo)
        group = f"/aws/sagemaker/Endpoints/{name}"
        groups = client("logs").describe_log_groups(logGroupNamePrefix=group)["logGroups"]
        left = group if group in [one["logGroupName"] for one in groups] else None
        todo = f"Keep what it says elsewhere, then aws logs delete-log-group --log-group-name {group} (docs/deploy.md)."
        yield _name("log group", group, left, ours, todo)


def _resources(stack: str, cloudformation: Any) -> set[str]:
    """What the stack has made, by its physical id; nothing when it is not deployed."""
    try:
        pages = [*cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return set()
    return {one.get("PhysicalResourceId", "") for page in pages for one in page["StackResourceSummaries"]}


def _name(kind: str, name: str, taken: str | None, ours: set[str], todo: str) -> Line:
    """`taken` is the physical id of what has the name."""
    if taken is None:
        return Line("names", f"{kind} {name} is free")
    if taken in ours:
        return Line("names", f"{kind} {name} is the environment's own")
    return Line("names", f"{kind} {name} is there already, and the environment has not made it", todo)
