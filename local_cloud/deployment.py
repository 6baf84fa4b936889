"""Environments on the local cloud, `local` unless another is named, deployed by the real CDK command."""

import os
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore.config import Config

from local_cloud.cloud import ACCOUNT_ID, REGION, REPOSITORY_ROOT, Cloud, client_environment, client_settings
from local_cloud.demo_model import smollm2_path
from local_cloud.errors import DeploymentError
from local_cloud.leash import Leash

ENVIRONMENT = "local"
_CDK = REPOSITORY_ROOT / "node_modules" / ".bin" / "cdk"
_CDK_TIMEOUT_SECONDS = 3600.0
_CDK_GRACE_SECONDS = 5.0
_REASON_LINES = 25


def client(cloud: Cloud, service: str) -> Any:
    """A boto3 client that talks to the cloud, whatever this process's AWS and proxy settings are."""
    settings = client_settings(cloud)
    nothing_of_the_user: dict[str, Any] = {
        "profile": (None, [], None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    session = boto3.Session(
        aws_access_key_id=settings["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=settings["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
        botocore_session=botocore.session.Session(session_vars=nothing_of_the_user),
    )
    return session.client(  # type: ignore[call-overload]  # any service by name
        service, endpoint_url=cloud.endpoint_url, config=Config(proxies={})
    )


def put_model(cloud: Cloud) -> str:
    """Put the small model where the environment's settings expect it; returns its URI."""
    settings = tomllib.loads((REPOSITORY_ROOT / "environments" / f"{ENVIRONMENT}.toml").read_text(encoding="utf-8"))
    uri = str(settings["model"]["uri"])
    target = urlsplit(uri)
    s3 = client(cloud, "s3")
    s3.create_bucket(Bucket=target.netloc)
    s3.upload_file(str(smollm2_path()), target.netloc, target.path.lstrip("/"))
    return uri


def bootstrap(cloud: Cloud) -> None:
    """Run `cdk bootstrap`.

    Raises:
        DeploymentError: it failed; the message has the end of its output.
    """
    _cdk(cloud, "bootstrap", f"aws://{ACCOUNT_ID}/{REGION}")


def deploy(cloud: Cloud, *, app: Path = REPOSITORY_ROOT, environment: str = ENVIRONMENT) -> None:
    """Run `cdk deploy --all` of an environment of the application in `app`.

    Raises:
        DeploymentError: it failed; the message has the end of its output, where CloudFormation's reason stands.
    """
    _cdk(cloud, "deploy", "--all", "--require-approval", "never", app=app, environment=environment)


def destroy(cloud: Cloud, *, app: Path = REPOSITORY_ROOT, environment: str = ENVIRONMENT) -> None:
    """Run `cdk destroy --all` of an environment of the application in `app`.

    Raises:
        DeploymentError: it failed; the message has the end of its output.
    """
    _cdk(cloud, "destroy", "--all", "--force", app=app, environment=environment)


def endpoint_names(cloud: Cloud, environment: str = ENVIRONMENT) -> dict[str, str]:
    """The deployed endpoints by contract, from the parameters that the deployment wrote."""
    ssm = client(cloud, "ssm")
    found = ssm.get_parameters_by_path(Path=f"/decision-endpoints/{environment}", Recursive=True)["Parameters"]
    return {one["Name"].split("/")[3]: one["Value"] for one in found if one["Name"].endswith("/endpoint-name")}


def _cdk(
    cloud: Cloud, command: str, *arguments: str, app: Path = REPOSITORY_ROOT, environment: str = ENVIRONMENT
) -> None:
    log = cloud.state_dir / "logs" / f"cdk-{command}.log"
    options = ["--ci", "--no-notices", "--context", f"env={environment}", "--output", str(cloud.state_dir / "cdk.out")]
    # neither Node.js nor jsii has to say that it will be too old one day
    quiet = {"NODE_NO_WARNINGS": "1", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20"}
    alone = {"CDK_DISABLE_CLI_TELEMETRY": "true", "TMPDIR": str(cloud.state_dir / "tmp")}
    with log.open("wb") as output:
        leash = Leash(
            [_CDK, command, *arguments, *options],
            environment={**client_environment(cloud), **quiet, **alone},
            directory=app,
            output=output,
            grace_seconds=_CDK_GRACE_SECONDS,
        )
    try:
        status = leash.wait(_CDK_TIMEOUT_SECONDS)
    finally:
        leash.end()
    if status != 0:
        why = "did not end within an hour" if status is None else "failed"
        raise DeploymentError(f"cdk {command} {why} (all of it: {log}):\n{_reason(log)}")


def _reason(log: Path) -> str:
    """What CDK says last: from its cross on, where CloudFormation's reason stands."""
    lines = log.read_text(errors="replace").splitlines()
    crosses = [number for number, line in enumerate(lines) if "❌" in line]
    return "\n".join(lines[crosses[-1] :][:_REASON_LINES] if crosses else lines[-_REASON_LINES:])
