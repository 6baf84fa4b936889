"""Starts the container of a model as SageMaker does: image, extracted archive, environment, log."""

import secrets
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_cloud.container import Container, Images, free_port
from local_cloud.errors import ArchiveError, ContainerError, ImageError, ValidationError
from local_cloud.log_stream import LogStream
from local_cloud.model_archive import ModelArchives

if TYPE_CHECKING:
    from mypy_boto3_logs.client import CloudWatchLogsClient

# The platform's defaults.
STARTUP_TIMEOUT_SECONDS = 480
DOWNLOAD_TIMEOUT_SECONDS = 3600


@dataclass(frozen=True)
class Launch:
    """What one instance runs, and where it logs.

    Attributes:
        model: the model as CreateModel was given it.
        purpose: what it is for, in messages: `production variant AllTraffic`.
        log_group: its group in CloudWatch Logs.
        log_folder: the folder of its log file below the logs of the state directory.
        stream_prefix: what the name of its log stream begins with.
        environment: variables beside the model's own.
    """

    model: Mapping[str, Any]
    purpose: str
    log_group: str
    log_folder: str
    stream_prefix: str
    startup_timeout_seconds: int = STARTUP_TIMEOUT_SECONDS
    download_timeout_seconds: int = DOWNLOAD_TIMEOUT_SECONDS
    environment: Mapping[str, str] = field(default_factory=dict)


class Launcher:
    """Every container of a cloud is started here, so that all can be ended here."""

    def __init__(
        self, images: Images, archives: ModelArchives, logs_directory: Path, logs: "CloudWatchLogsClient"
    ) -> None:
        self._images = images
        self._archives = archives
        self._logs_directory = logs_directory
        self._logs = logs
        self._lock = threading.Lock()
        self._containers: weakref.WeakSet[Container] = weakref.WeakSet()
        self._closed = False

    def check(self, model: Mapping[str, Any]) -> None:
        """Make sure that a model's image and archive exist.

        Raises:
            ValidationError: one does not.
        """
        container = only_container(model)
        try:
            self._images.check(container.get("Image", ""))
            url = _model_data_url(container)
            if url is not None:
                self._archives.check(url)
        except (ImageError, ArchiveError) as error:
            raise ValidationError(str(error)) from error

    def start(self, launch: Launch) -> Container:
        """A container that is healthy; blocks until it is.

        Raises:
            LocalCloudError: the model cannot be fetched, the container ended or was not healthy in time, or the cloud
                is shutting down.
        """
        self._check_open()
        container = only_container(launch.model)
        directory = self._model_directory(container, launch.download_timeout_seconds)
        port = free_port()
        environment = {**container.get("Environment", {}), **launch.environment}
        program = self._images.program(container["Image"], environment, directory, port)
        stream = f"{launch.stream_prefix}/i-{secrets.token_hex(8)}"
        path = self._logs_directory / launch.log_folder / f"{stream.replace('/', '-')}.log"
        with self._lock:
            self._check_open()
            running = Container(program, port, LogStream(path, launch.log_group, stream, self._logs))
            self._containers.add(running)
        try:
            running.wait_until_healthy(launch.startup_timeout_seconds, launch.purpose)
        except BaseException:
            running.stop()
            raise
        return running

    def close(self) -> None:
        """End every container, those that are still starting as well, and start no more."""
        with self._lock:
            self._closed = True
            containers = list(self._containers)
        if containers:
            with ThreadPoolExecutor(len(containers)) as pool:
                list(pool.map(Container.stop, containers))

    def _check_open(self) -> None:
        if self._closed:
            raise ContainerError("the local cloud is shutting down")

    def _model_directory(self, container: Mapping[str, Any], timeout_seconds: int) -> Path:
        url = _model_data_url(container)
        if url is None:
            empty = self._logs_directory.parent / "tmp" / "no-model"
            empty.mkdir(parents=True, exist_ok=True)
            return empty
        return self._archives.fetch(url, timeout_seconds)


def only_container(model: Mapping[str, Any]) -> Mapping[str, Any]:
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
