"""SageMaker's control plane: models, endpoint configurations, endpoints, tags."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_cloud.deployment_policy import Alarms, DeploymentPolicy, deployment_policy
from local_cloud.endpoint import Endpoint, Fleet
from local_cloud.errors import ValidationError
from local_cloud.json_api import JsonApi, Operation, Parameters
from local_cloud.launcher import DOWNLOAD_TIMEOUT_SECONDS, STARTUP_TIMEOUT_SECONDS, Launch, Launcher, only_container
from local_cloud.production_variant import check_scaled_variants, check_variants, with_retained
from local_cloud.resources import ENDPOINT, ENDPOINT_CONFIG, MODEL, Kind, Record, Table, Tags, now, page
from local_cloud.running_variant import RunningVariant
from local_cloud.transform import TransformJobs

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class SageMaker:
    """The service. `api` answers its operations; `endpoints` is what InvokeEndpoint looks into."""

    def __init__(self, launcher: Launcher, alarms: Alarms, s3: "S3Client") -> None:
        self._launcher = launcher
        self._alarms = alarms
        self._models: Table[Record] = Table(MODEL)
        self._configs: Table[Record] = Table(ENDPOINT_CONFIG)
        self.endpoints: Table[Endpoint] = Table(ENDPOINT)
        self._tags = Tags()
        transform_jobs = TransformJobs(launcher, self._models, s3)
        self.api = JsonApi("sagemaker", {**self._operations(), **transform_jobs.operations})

    def name_of(self, kind: Kind, arn: str) -> str | None:
        """The name of a resource of a kind."""
        tables: dict[Kind, Table[Any]] = {MODEL: self._models, ENDPOINT_CONFIG: self._configs, ENDPOINT: self.endpoints}
        return tables[kind].find_name(arn)

    def stop(self) -> None:
        """End every container, those that are still starting as well."""
        self._launcher.close()

    def _operations(self) -> dict[str, Operation]:
        operations: dict[str, Operation] = {
            "CreateModel": self._create_model,
            "CreateEndpointConfig": self._create_config,
            "CreateEndpoint": self._create_endpoint,
            "UpdateEndpoint": self._update_endpoint,
            "DescribeEndpoint": lambda p: self.endpoints.get(p["EndpointName"]).describe(),
            "UpdateEndpointWeightsAndCapacities": self._update_weights_and_capacities,
            "DeleteEndpoint": self._delete_endpoint,
            "ListEndpoints": lambda p: _listing(ENDPOINT, [e.describe() for e in self.endpoints.items()], p),
            "AddTags": self._add_tags,
            "DeleteTags": self._delete_tags,
            "ListTags": lambda p: {"Tags": self._tags.list(p["ResourceArn"])},
        }
        for table in (self._models, self._configs):
            operations |= self._record_operations(table)
        return operations

    def _record_operations(self, table: Table[Record]) -> dict[str, Operation]:
        kind = table.kind

        def delete(parameters: Parameters) -> Parameters:
            name = parameters[f"{kind.name}Name"]
            table.remove(name)
            self._tags.remove(kind.arn(name))
            return {}

        return {
            f"Describe{kind.name}": lambda p: table.get(p[f"{kind.name}Name"]),
            f"List{kind.name}s": lambda p: _listing(kind, table.items(), p),
            f"Delete{kind.name}": delete,
        }

    def _create_model(self, parameters: Parameters) -> Parameters:
        self._launcher.check(parameters)
        return self._add(self._models, parameters)

    def _create_config(self, parameters: Parameters) -> Parameters:
        check_variants(parameters["ProductionVariants"])
        for variant in parameters["ProductionVariants"]:
            self._models.get(variant.get("ModelName", ""))
        return self._add(self._configs, parameters)

    def _create_endpoint(self, parameters: Parameters) -> Parameters:
        name = parameters["EndpointName"]
        config = self._configs.get(parameters["EndpointConfigName"])
        asked = parameters.get("DeploymentConfig", {})
        policy = self._policy(asked, config["ProductionVariants"])
        endpoint = Endpoint(name, self._describe_fleet, self._alarms, deployment_config=asked)
        self.endpoints.add(name, endpoint)
        self._tags.add(ENDPOINT.arn(name), parameters.get("Tags", []))
        try:
            endpoint.deploy(config, config["ProductionVariants"], policy)
        except ValidationError:  # a model is gone
            self.endpoints.remove(name)
            raise
        return {"EndpointArn": ENDPOINT.arn(name)}

    def _update_endpoint(self, parameters: Parameters) -> Parameters:
        endpoint = self.endpoints.get(parameters["EndpointName"])
        config = self._configs.get(parameters["EndpointConfigName"])
        check_scaled_variants(endpoint, config["ProductionVariants"], self._configs)
        variants = config["ProductionVariants"]
        if parameters.get("RetainAllVariantProperties"):
            excluded = {one["VariantPropertyType"] for one in parameters.get("ExcludeRetainedVariantProperties", [])}
            variants = with_retained(variants, endpoint.variants, excluded)
        asked = parameters.get("DeploymentConfig", {})
        if parameters.get("RetainDeploymentConfig"):
            asked = endpoint.deployment_config
        endpoint.deploy(config, variants, self._policy(asked, variants))
        endpoint.deployment_config = asked
        return {"EndpointArn": ENDPOINT.arn(endpoint.name)}

    def _policy(self, asked: Record, variants: Sequence[Mapping[str, Any]]) -> DeploymentPolicy:
        policy = deployment_policy(asked, [variant.get("InitialInstanceCount", 1) for variant in variants])
        self._alarms.check(policy.alarm_names)
        return policy

    def _update_weights_and_capacities(self, parameters: Parameters) -> Parameters:
        endpoint = self.endpoints.get(parameters["EndpointName"])
        asked = parameters["DesiredWeightsAndCapacities"]
        endpoint.scale(
            {one["VariantName"]: one["DesiredInstanceCount"] for one in asked if "DesiredInstanceCount" in one},
            {one["VariantName"]: one["DesiredWeight"] for one in asked if "DesiredWeight" in one},
        )
        return {"EndpointArn": ENDPOINT.arn(endpoint.name)}

    def _delete_endpoint(self, parameters: Parameters) -> Parameters:
        name = parameters["EndpointName"]
        self.endpoints.get(name).delete()
        self.endpoints.remove(name)
        self._tags.remove(ENDPOINT.arn(name))
        return {}

    def _add_tags(self, parameters: Parameters) -> Parameters:
        self._tags.add(parameters["ResourceArn"], parameters["Tags"])
        return {"Tags": self._tags.list(parameters["ResourceArn"])}

    def _delete_tags(self, parameters: Parameters) -> Parameters:
        self._tags.remove(parameters["ResourceArn"], parameters["TagKeys"])
        return {}

    def _add(self, table: Table[Record], parameters: Parameters) -> Parameters:
        kind, name = table.kind, parameters[f"{table.kind.name}Name"]
        described = {key: value for key, value in parameters.items() if key != "Tags"}
        arn = {f"{kind.name}Arn": kind.arn(name)}
        table.add(name, {**described, **arn, "CreationTime": now()})
        self._tags.add(kind.arn(name), parameters.get("Tags", []))
        return dict(arn)

    def _describe_fleet(self, endpoint_name: str, variants: Sequence[Mapping[str, Any]]) -> Fleet:
        """The variants of an endpoint, none of their instances started.

        Raises:
            ValidationError: a model is gone.
        """
        return tuple(self._variant(endpoint_name, variant) for variant in variants)

    def _variant(self, endpoint_name: str, variant: Mapping[str, Any]) -> RunningVariant:
        model, name = self._models.get(variant["ModelName"]), variant["VariantName"]
        launch = Launch(
            model,
            purpose=f"production variant {name}",
            log_group=f"/aws/sagemaker/Endpoints/{endpoint_name}",
            log_folder=f"endpoints/{endpoint_name}",
            stream_prefix=name,
            startup_timeout_seconds=variant.get("ContainerStartupHealthCheckTimeoutInSeconds", STARTUP_TIMEOUT_SECONDS),
            download_timeout_seconds=variant.get("ModelDataDownloadTimeoutInSeconds", DOWNLOAD_TIMEOUT_SECONDS),
        )
        return RunningVariant(variant, only_container(model)["Image"], lambda: self._launcher.start(launch))


def _listing(kind: Kind, records: list[Record], parameters: Parameters) -> Parameters:
    found, following = page(records, kind, parameters)
    fields = (f"{kind.name}Name", f"{kind.name}Arn", "CreationTime", "LastModifiedTime", "EndpointStatus")
    return {f"{kind.name}s": [{key: r[key] for key in fields if key in r} for r in found], **following}
