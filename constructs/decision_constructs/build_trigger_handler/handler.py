"""Runs a CodeBuild project during a deployment, once for each output it makes, and hands on what came out.

The two functions of a CDK `Provider` (https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.custom_resources-readme.html):
`on_event` starts the build unless its output exists, `is_complete` waits for it. Resource properties:

    ProjectName                     the CodeBuild project
    Bucket, Key                     the object it uploads → ModelDataUrl, Sha256
    RepositoryName, ImageTag        or the image it pushes → ImageUri, ImageDigest

Outputs are addressed by content, so one that exists is never built again, and none is deleted: a rollback needs it.
"""

from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

Event = dict[str, Any]

_LOG_EVENTS = 50
_LINES_TOLD = 3
_CHARACTERS_TOLD = 1000
_MISSING = frozenset({"404", "NoSuchKey", "NotFound", "ImageNotFoundException"})


class BuildFailedError(Exception):
    """The build ended without its output; the message ends up as the reason of the failed deployment."""


def on_event(event: Event, _context: object) -> Event:
    """Start the build if its output is missing; the physical id is the output, so a new one replaces the old."""
    properties = event["ResourceProperties"]
    response: Event = {"PhysicalResourceId": _identity(properties)}
    if event["RequestType"] == "Delete" or _output(properties) is not None:
        return response
    build = boto3.client("codebuild").start_build(projectName=properties["ProjectName"])["build"]
    return {**response, "Data": {"BuildId": build["id"]}}


def is_complete(event: Event, _context: object) -> Event:
    """Say whether the build has ended, with the output's attributes.

    Raises:
        BuildFailedError: it failed or was stopped (the message has the phase, its complaint and the link to the log),
            or it succeeded without the output.
    """
    if event["RequestType"] == "Delete":
        return {"IsComplete": True}
    properties = event["ResourceProperties"]
    build_id = event.get("Data", {}).get("BuildId")
    if build_id is not None:
        build = boto3.client("codebuild").batch_get_builds(ids=[build_id])["builds"][0]
        if build["buildStatus"] == "IN_PROGRESS":
            return {"IsComplete": False}
        if build["buildStatus"] != "SUCCEEDED":
            raise BuildFailedError(_failure(build))
    output = _output(properties)
    if output is None:
        raise BuildFailedError(f"build {build_id} succeeded, but {_identity(properties)} does not exist")
    return {"IsComplete": True, "Data": output}


def _identity(properties: Event) -> str:
    if "Bucket" in properties:
        return f"s3://{properties['Bucket']}/{properties['Key']}"
    return f"{properties['RepositoryName']}:{properties['ImageTag']}"


def _output(properties: Event) -> Event | None:
    """The output's attributes, or None when it does not exist."""
    try:
        return _object(properties) if "Bucket" in properties else _image(properties)
    except ClientError as error:
        if error.response["Error"]["Code"] in _MISSING:
            return None
        raise


def _object(properties: Event) -> Event:
    head = boto3.client("s3").head_object(Bucket=properties["Bucket"], Key=properties["Key"])
    return {"ModelDataUrl": _identity(properties), "Sha256": head["Metadata"].get("sha256", "")}


def _image(properties: Event) -> Event:
    ecr, name = boto3.client("ecr"), properties["RepositoryName"]
    image = ecr.describe_images(repositoryName=name, imageIds=[{"imageTag": properties["ImageTag"]}])["imageDetails"][0]
    repository = ecr.describe_repositories(repositoryNames=[name])["repositories"][0]
    digest = image["imageDigest"]
    return {"ImageUri": f"{repository['repositoryUri']}@{digest}", "ImageDigest": digest}


def _failure(build: Mapping[str, Any]) -> str:
    complaints = [
        f"{phase['phaseType']}: {context['message']}"
        for phase in build.get("phases", [])
        for context in phase.get("contexts", [])
        if phase.get("phaseStatus") not in (None, "SUCCEEDED") and context.get("message")
    ]
    log = build.get("logs", {})
    parts = [f"build {build['id']} {build['buildStatus']}.", *complaints, _last_words(log)]
    return " ".join([*filter(None, parts), f"Log: {log.get('deepLink', 'in the CodeBuild console')}"]).replace(
        "\n", " "
    )


def _last_words(log: Mapping[str, str]) -> str:
    """What the build's own command said last: CodeBuild's complaint names the command, not its reason."""
    if "groupName" not in log or "streamName" not in log:
        return ""
    try:
        events = boto3.client("logs").get_log_events(
            logGroupName=log["groupName"], logStreamName=log["streamName"], limit=_LOG_EVENTS, startFromHead=False
        )["events"]
    except ClientError:  # a build that ended before it wrote anything has no stream
        return ""
    lines = [event["message"].strip() for event in events]
    said = [line for line in lines if line and not line.startswith("[Container]")]
    return f"It said: {' '.join(said[-_LINES_TOLD:])[-_CHARACTERS_TOLD:]}" if said else ""
