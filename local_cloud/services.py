"""The services the local cloud adds to MiniStack, made and connected."""

import os
import shlex
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from local_cloud import docker
from local_cloud.autoscaling import ApplicationAutoScaling
from local_cloud.buildah import CACHE_VARIABLE
from local_cloud.built_images import IMAGES_VARIABLE, image_store
from local_cloud.cloud import REPOSITORY_ROOT, Cloud, client_settings
from local_cloud.codebuild import Clients, CodeBuild, build_environment
from local_cloud.container import Images
from local_cloud.deployment_policy import Alarms
from local_cloud.invocation import Invoker
from local_cloud.launcher import Launcher
from local_cloud.model_archive import ModelArchives
from local_cloud.sagemaker import SageMaker
from local_cloud.state_directory import StateDirectory


@dataclass(frozen=True)
class Services:
    """The added services of one running cloud."""

    sagemaker: SageMaker
    runtime: Invoker
    scaling: ApplicationAutoScaling
    codebuild: CodeBuild


def create_services(cloud: Cloud) -> Services:
    """The services of a cloud; they reach MiniStack's S3, ECR, logs and parameters as any client does."""
    state = StateDirectory(cloud.state_dir)
    settings = client_settings(cloud)
    session = boto3.Session(
        aws_access_key_id=settings["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=settings["AWS_SECRET_ACCESS_KEY"],
        region_name=settings["AWS_REGION"],
    )
    # One try: the cloud answers itself, and when it shuts down nothing should wait for it.
    config = Config(retries={"total_max_attempts": 1}, proxies={}, max_pool_connections=50)

    def client(name: str) -> Any:
        # The service names are not literals here, and the stubs know literals only.
        return session.client(name, endpoint_url=cloud.endpoint_url, config=config)  # type: ignore[call-overload]

    logs, s3 = client("logs"), client("s3")
    images = Images(image_store(state.images), client("ecr"))
    launcher = Launcher(images, ModelArchives(state.models, s3), state.logs, logs)
    sagemaker = SageMaker(launcher, Alarms(client("cloudwatch")), s3)
    clients = Clients(client("codebuild"), logs, s3, client("ssm"))
    environment = build_environment(_install_docker(state), settings)
    builds = CodeBuild(clients, state.builds, state.logs, environment)
    return Services(sagemaker, Invoker(sagemaker.endpoints), ApplicationAutoScaling(sagemaker.endpoints), builds)


def _install_docker(state: StateDirectory) -> Path:
    """The directory that holds the `docker` command of builds."""
    command = state.commands / "docker"
    kept = {name: os.environ[name] for name in (IMAGES_VARIABLE, CACHE_VARIABLE) if name in os.environ}
    command.write_text(
        "#!/bin/sh\n"
        + "".join(f"export {name}={shlex.quote(value)}\n" for name, value in kept.items())
        + f"export {docker.STATE_DIRECTORY_VARIABLE}={shlex.quote(str(state.root))}\n"
        f"export PYTHONPATH={shlex.quote(str(REPOSITORY_ROOT))}\n"
        f'exec {shlex.quote(sys.executable)} -m {docker.__name__} "$@"\n'
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return state.commands
