"""The custom resource's handler against the local cloud's CodeBuild, S3 and ECR."""

import json
import time
from typing import Any

import pytest

from decision_constructs.build_trigger_handler import handler
from local_cloud import Cloud, client_settings, deployment

BUCKET = "build-trigger-test"
UPLOAD = (
    "python -c \"import boto3; boto3.client('s3').put_object(Bucket='{bucket}', Key='{key}', Body=b'x', "
    "Metadata={{'sha256': 'abc'}})\""
)


@pytest.fixture(autouse=True)
def client_of_the_cloud(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in client_settings(cloud).items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module", autouse=True)
def bucket(cloud: Cloud) -> None:
    deployment.client(cloud, "s3").create_bucket(Bucket=BUCKET)


def project(cloud: Cloud, name: str, command: str) -> str:
    buildspec = {"version": 0.2, "phases": {"build": {"commands": [command]}}}
    deployment.client(cloud, "codebuild").create_project(
        name=name,
        source={"type": "NO_SOURCE", "buildspec": json.dumps(buildspec)},
        artifacts={"type": "NO_ARTIFACTS"},
        environment={
            "type": "LINUX_CONTAINER",
            "image": "aws/codebuild/standard:7.0",
            "computeType": "BUILD_GENERAL1_SMALL",
        },
        serviceRole="arn:aws:iam::000000000000:role/build",
    )
    return name


def run(event: dict[str, Any]) -> dict[str, Any]:
    """What the provider framework does: start, then ask until it is complete, with the first answer merged in."""
    event = {**event, **handler.on_event(event, None)}
    for _ in range(600):
        answer = handler.is_complete(event, None)
        if answer["IsComplete"]:
            return answer
        time.sleep(0.1)
    raise AssertionError("the build did not end within a minute")


def create(name: str, key: str) -> dict[str, Any]:
    return {"RequestType": "Create", "ResourceProperties": {"ProjectName": name, "Bucket": BUCKET, "Key": key}}


def builds(cloud: Cloud, name: str) -> list[str]:
    ids: list[str] = deployment.client(cloud, "codebuild").list_builds_for_project(projectName=name)["ids"]
    return ids


def test_a_missing_output_is_built_once_and_then_found(cloud: Cloud) -> None:
    name = project(cloud, "uploads", UPLOAD.format(bucket=BUCKET, key="models/one"))
    expected = {"ModelDataUrl": f"s3://{BUCKET}/models/one", "Sha256": "abc"}
    assert run(create(name, "models/one"))["Data"] == expected
    assert run(create(name, "models/one"))["Data"] == expected
    assert len(builds(cloud, name)) == 1


def test_a_failed_build_is_told_with_phase_command_and_log(cloud: Cloud) -> None:
    name = project(cloud, "fails", "echo no such model; exit 3")
    with pytest.raises(handler.BuildFailedError) as caught:
        run(create(name, "models/two"))
    message = str(caught.value)
    assert "FAILED" in message
    assert "BUILD: " in message
    assert "exit 3" in message
    assert "It said: no such model" in message
    assert "Log: " in message


def test_a_build_without_its_output_is_an_error_not_a_success(cloud: Cloud) -> None:
    name = project(cloud, "forgets", "true")
    with pytest.raises(handler.BuildFailedError, match=f"s3://{BUCKET}/models/three does not exist"):
        run(create(name, "models/three"))


def test_deleting_builds_nothing_and_keeps_the_output(cloud: Cloud) -> None:
    deployment.client(cloud, "s3").put_object(Bucket=BUCKET, Key="models/four", Body=b"x")
    name = project(cloud, "unused", "exit 1")
    assert run({**create(name, "models/four"), "RequestType": "Delete"}) == {"IsComplete": True}
    assert deployment.client(cloud, "s3").head_object(Bucket=BUCKET, Key="models/four")
    assert builds(cloud, name) == []
