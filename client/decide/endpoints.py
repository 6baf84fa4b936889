"""What SageMaker says of an environment's endpoints: whether they serve, on which instances, with which image."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from decision_client import ClientSettings, NotFoundError
from decision_client.aws_errors import told_as_ours

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import ProductionVariantOutputTypeDef, ProductionVariantSummaryTypeDef

IN_SERVICE = "InService"
_PARAMETER = "/endpoint-name"
_NEEDS_PARAMETERS = "the caller needs ssm:GetParametersByPath"
_NEEDS_DESCRIBE = "the caller needs sagemaker:DescribeEndpoint, DescribeEndpointConfig and DescribeModel"


@dataclass(frozen=True)
class Variant:
    """A production variant: a model on instances."""

    name: str
    instance_types: tuple[str, ...]
    """Of a pool, in the order in which they are tried."""
    instances: int
    wanted_instances: int
    image: str
    model_archive: str
    message: str = ""
    """What SageMaker says about it while it changes."""


@dataclass(frozen=True)
class Endpoint:
    """An endpoint of SageMaker's, as it is now."""

    contract: str
    name: str
    status: str
    variants: tuple[Variant, ...]
    failure_reason: str = ""
    """Why it, or its last update, failed."""
    changed: datetime | None = None

    @property
    def serves(self) -> bool:
        """Whether it answers."""
        return self.status == IN_SERVICE


def names_of(environment: str, session: boto3.Session, settings: ClientSettings) -> dict[str, str]:
    """The endpoints that ``environment`` deployed, by contract.

    Raises:
        NotFoundError: there are none in the account and region of ``session``.
        EndpointError, ConfigurationError: AWS could not be asked.
    """
    path = f"/decision-endpoints/{environment}/"
    with told_as_ours(_NEEDS_PARAMETERS), closing(session.client("ssm", config=_config(settings))) as ssm:
        pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=path, Recursive=True)
        found = {one["Name"]: one["Value"] for page in pages for one in page["Parameters"]}
    names = {
        name.removeprefix(path).removesuffix(_PARAMETER): value
        for name, value in found.items()
        if name.endswith(_PARAMETER)
    }
    if not names:
        raise NotFoundError(
            f"environment {environment} has deployed no endpoint in {session.region_name}; check the name, the region "
            "and the account, or deploy it"
        )
    return names


def described(contracts: dict[str, str], session: boto3.Session, settings: ClientSettings) -> list[Endpoint]:
    """The endpoints with these names, by contract, as they are now; one that is gone has the status ``Missing``.

    Raises:
        EndpointError, ConfigurationError: AWS could not be asked.
    """
    with (
        told_as_ours(_NEEDS_DESCRIBE),
        closing(session.client("sagemaker", config=_config(settings))) as sagemaker,
    ):
        return [_describe(sagemaker, contract, name) for contract, name in sorted(contracts.items())]


def _describe(sagemaker: "SageMakerClient", contract: str, name: str) -> Endpoint:
    try:
        with told_as_ours(_NEEDS_DESCRIBE):
            told = sagemaker.describe_endpoint(EndpointName=name)
    except NotFoundError as error:
        return Endpoint(contract, name, "Missing", (), str(error))
    return Endpoint(
        contract,
        name,
        told["EndpointStatus"],
        tuple(_variants(sagemaker, told.get("EndpointConfigName", ""), told.get("ProductionVariants", []))),
        told.get("FailureReason", ""),
        told["LastModifiedTime"],
    )


def _variants(
    sagemaker: "SageMakerClient", config_name: str, running: "list[ProductionVariantSummaryTypeDef]"
) -> Iterator[Variant]:
    if not running:  # none has come up yet
        return
    config = sagemaker.describe_endpoint_config(EndpointConfigName=config_name)
    defined = {one["VariantName"]: one for one in config["ProductionVariants"]}
    for now in running:
        variant = defined.get(now["VariantName"])
        images = [one.get("ResolvedImage", "") for one in now.get("DeployedImages", [])]
        messages = [one.get("StatusMessage", "") for one in now.get("VariantStatus", [])]
        yield Variant(
            now["VariantName"],
            _instance_types(variant) if variant else (),
            now.get("CurrentInstanceCount", 0),
            now.get("DesiredInstanceCount", 0),
            images[0] if images else "",
            _archive(sagemaker, variant["ModelName"]) if variant and "ModelName" in variant else "",
            "; ".join(filter(None, messages)),
        )


def _instance_types(variant: "ProductionVariantOutputTypeDef") -> tuple[str, ...]:
    pools = sorted(variant.get("InstancePools", []), key=lambda pool: pool["Priority"])
    return tuple(pool["InstanceType"] for pool in pools) or tuple(filter(None, (variant.get("InstanceType"),)))


def _archive(sagemaker: "SageMakerClient", model_name: str) -> str:
    container = sagemaker.describe_model(ModelName=model_name).get("PrimaryContainer", {})
    return container.get("ModelDataUrl", "")


def _config(settings: ClientSettings) -> Config:
    return Config(connect_timeout=settings.connect_seconds, retries={"mode": "standard"})
