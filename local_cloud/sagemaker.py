"""SageMaker's control plane: models, endpoint configurations, endpoints, tags."""

import secrets
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_cloud.container import Container, Images, free_port
from local_cloud.endpoint import Endpoint, RunningVariant
from local_cloud.errors import ArchiveError, ImageError, ValidationError
from local_cloud.json_api import JsonApi, Operation, Parameters
from local_cloud.log_stream import LogStream
from local_cloud.model_archive import ModelArchives
from local_cloud.production_variant import DOWNLOAD_TIMEOUT_SECONDS, STARTUP_TIMEOUT_SECONDS, check_variants
from local_cloud.resources import ENDPOINT, ENDPOINT_CONFIG, MODEL, Kind, Record, Table, Tags, now, page

if TYPE_CHECKING:
    from mypy_boto3_logs.client import CloudWatchLogsClient


class SageMaker:
    """The service. `api` answers its operations; `endpoints` is what InvokeEndpoint looks into."""

    def __init__(
        self, images: Images, archives: ModelArchives, logs_directory: Path, logs: "CloudWatchLogsClient"
    ) -> None:
        self._images = images
        self._archives = archives
        self._logs_directory = logs_directory
        self._logs = logs
        self._models: Table[Record] = Table(MODEL)
        self._configs: Table[Record] = Table(ENDPOINT_CONFIG)
        self.endpoints: Table[Endpoint] = Table(ENDPOINT)
        self._tags = Tags()
        self._containers: weakref.WeakSet[Container] = weakref.WeakSet()
        self.api = JsonApi("sagemaker", self._operations())

    def name_of(self, kind: Kind, arn: str) -> str | None:
        """The name of a resource of a kind."""
        tables: dict[Kind, Table[Any]] = {MODEL: self._models, ENDPOINT_CONFIG: self._configs, ENDPOINT: self.endpoints}
        return tables[kind].find_name(arn)

    def stop(self) -> None:
        """End every container, those that are still starting as well."""
        containers = list(self._containers)
        if containers:
            with ThreadPoolExecutor(len(containers)) as pool:
                list(pool.map(Container.stop, containers))

    def _operations(self) -> dict[str, Operation]:
        operations: dict[str, Operation] = {
            "CreateModel": self._create_model,
            "CreateEndpointConfig": self._create_config,
            "CreateEndpoint": self._create_endpoint,
            "UpdateEndpoint": self._update_endpoint,
            "DescribeEndpoint": lambda p: self.endpoints.get(p["EndpointName"]).describe(),
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
        container = _only_container(parameters)
        try:
            self._images.check(container.get("Image", ""))
            url = _model_data_url(container)
            if url is not None:
                self._archives.check(url)
        except (ImageError, ArchiveError) as error:
            raise ValidationError(str(error)) from error
        return self._add(self._models, parameters)

    def _create_config(self, parameters: Parameters) -> Parameters:
        check_variants(parameters["ProductionVariants"])
        for variant in parameters["ProductionVariants"]:
            self._models.get(variant.get("ModelName", ""))
        return self._add(self._configs, parameters)

    def _create_endpoint(self, parameters: Parameters) -> Parameters:
        name = parameters["EndpointName"]
        config = self._configs.get(parameters["EndpointConfigName"])
        endpoint = Endpoint(name, self._start_variant)
        self.endpoints.add(name, endpoint)
        self._tags.add(ENDPOINT.arn(name), parameters.get("Tags", []))
        endpoint.deploy(config)
        return {"EndpointArn": ENDPOINT.arn(name)}

    def _update_endpoint(self, parameters: Parameters) -> Parameters:
        endpoint = self.endpoints.get(parameters["EndpointName"])
        endpoint.deploy(self._configs.get(parameters["EndpointConfigName"]))
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

    def _start_variant(self, endpoint_name: str, variant: Mapping[str, Any]) -> RunningVariant:
        """A production variant, started and healthy.

        Raises:
            LocalCloudError: its model cannot be fetched, or its container ended or was not healthy in time.
        """
        container = _only_container(self._models.get(variant["ModelName"]))
        directory = self._model_directory(container, variant)
        port, name = free_port(), variant["VariantName"]
        program = self._images.program(container["Image"], container.get("Environment", {}), directory, port)
        stream = f"{name}/i-{secrets.token_hex(8)}"
        path = self._logs_directory / "endpoints" / endpoint_name / f"{stream.replace('/', '-')}.log"
        log = LogStream(path, f"/aws/sagemaker/Endpoints/{endpoint_name}", stream, self._logs)
        running = Container(program, port, log)
        self._containers.add(running)
        try:
            timeout_seconds = variant.get("ContainerStartupHealthCheckTimeoutInSeconds", STARTUP_TIMEOUT_SECONDS)
            running.wait_until_healthy(timeout_seconds, name)
        except BaseException:
            running.stop()
            raise
        weight, count = variant.get("InitialVariantWeight", 1.0), variant.get("InitialInstanceCount", 1)
        return RunningVariant(name, weight, count, container["Image"], running)

    def _model_directory(self, container: Mapping[str, Any], variant: Mapping[str, Any]) -> Path:
        url = _model_data_url(container)
        if url is None:
            empty = self._logs_directory.parent / "tmp" / "no-model"
            empty.mkdir(parents=True, exist_ok=True)
            return empty
        return self._archives.fetch(url, variant.get("ModelDataDownloadTimeoutInSeconds", DOWNLOAD_TIMEOUT_SECONDS))


def _only_container(model: Mapping[str, Any]) -> Mapping[str, Any]:
    """The container of a model.

    Raises:
        ValidationError: there are several, or none.
    """
    containers = [model["PrimaryContainer"]] if "PrimaryContainer" in model else model.get("Containers", [])
    if len(containers) != 1 or ("PrimaryContainer" in model and model.get("Containers")):
        raise ValidationError(
            "Give PrimaryContainer, or one container in Containers; the local cloud runs one a model."
        )
    container: Mapping[str, Any] = containers[0]
    return container


def _model_data_url(container: Mapping[str, Any]) -> str | None:
    """The S3 URL of a container's model archive, None when it has none.

    Raises:
        ValidationError: a form of model data that the local cloud does not have.
    """
    source = container.get("ModelDataSource", {}).get("S3DataSource")
    if source is None:
        url: str | None = container.get("ModelDataUrl")
        return url
    if (source["S3DataType"], source["CompressionType"]) != ("S3Object", "Gzip"):
        raise ValidationError(
            "The local cloud takes ModelDataSource with S3DataType S3Object and CompressionType Gzip."
        )
    uri: str = source["S3Uri"]
    return uri


def _listing(kind: Kind, records: list[Record], parameters: Parameters) -> Parameters:
    found, following = page(records, kind, parameters)
    fields = (f"{kind.name}Name", f"{kind.name}Arn", "CreationTime", "LastModifiedTime", "EndpointStatus")
    return {f"{kind.name}s": [{key: r[key] for key in fields if key in r} for r in found], **following}
