"""Updates of a deployed environment, seen by a client that never stops asking.

The tests follow one another: each finds the endpoint as the one before left it.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud import Cloud, demo, deployment
from local_cloud.errors import DeploymentError
from tests.e2e.caller import Caller
from tests.e2e.other_settings import settings_of
from tests.tiny_models import write_tiny_model

BUCKET = "decision-endpoints-local-models"
SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module", autouse=True)
def as_it_was(cloud: Cloud, endpoints: dict[str, str]) -> Iterator[None]:
    yield
    deployment.deploy(cloud)


@pytest.fixture(scope="module")
def tiny_model(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The `[model]` of a model of a megabyte, which is in the bucket."""
    path = write_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf", "attention")
    deployment.client(cloud, "s3").upload_file(str(path), BUCKET, path.name)
    return {"uri": f"s3://{BUCKET}/{path.name}", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def change_model(app: Path, model: dict[str, str]) -> None:
    with settings_of(app) as tables:
        tables["model"] = model


def served_archive(cloud: Cloud, endpoint: str) -> tuple[str, str]:
    """The bucket and the key of the archive that an endpoint serves."""
    sagemaker = deployment.client(cloud, "sagemaker")
    config = sagemaker.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
    [variant] = sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
    url = sagemaker.describe_model(ModelName=variant["ModelName"])["PrimaryContainer"]["ModelDataUrl"]
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key


def asked(cloud: Cloud, endpoint: str) -> dict[str, Any]:
    """The result of one decision."""
    answer = deployment.client(cloud, "sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, ContentType="application/json", Body=json.dumps(demo.ONE_DECISION)
    )
    result: dict[str, Any] = json.load(answer["Body"])["result"]
    return result


@pytest.fixture(scope="module")
def first_archive(cloud: Cloud, endpoints: dict[str, str]) -> tuple[str, str]:
    return served_archive(cloud, endpoints["decision"])


def told(error: DeploymentError) -> str:
    return " ".join(str(error).split())


def test_model_image_pools_and_settings_change_under_a_caller_who_meets_no_failure(
    cloud: Cloud,
    endpoints: dict[str, str],
    other_checkout: Path,
    tiny_model: dict[str, str],
    first_archive: tuple[str, str],
) -> None:
    (other_checkout / "calibration.json").write_text('{"id": "support-1", "temperature": 2}')
    with settings_of(other_checkout) as tables:
        tables["model"] = {**tiny_model, "calibration": "calibration.json"}
        del tables["decision"]["instance_type"]
        tables["decision"] |= {"instance_pools": ["ml.c6i.large", "ml.m6i.large"], "max_shared_decisions": 2}
    adapter = other_checkout / "adapter" / "decision_adapter" / "__init__.py"
    adapter.write_text(adapter.read_text() + "# another image\n")
    sagemaker = deployment.client(cloud, "sagemaker")
    image = sagemaker.describe_endpoint(EndpointName=endpoints["decision"])["ProductionVariants"][0]["DeployedImages"]

    with Caller(cloud, endpoints["decision"], demo.ONE_DECISION) as caller:
        deployment.deploy(cloud, app=other_checkout)

    assert caller.failures == []
    assert caller.models() == [SMOLLM2, "tiny.gguf"]
    assert asked(cloud, endpoints["decision"])["model"]["calibration"] == "support-1"
    assert deployment.endpoint_names(cloud) == endpoints
    described = sagemaker.describe_endpoint(EndpointName=endpoints["decision"])
    assert described["ProductionVariants"][0]["DeployedImages"] != image
    config = sagemaker.describe_endpoint_config(EndpointConfigName=described["EndpointConfigName"])
    pools_now = config["ProductionVariants"][0]["InstancePools"]
    assert [pool["InstanceType"] for pool in pools_now] == ["ml.c6i.large", "ml.m6i.large"]
    with pytest.raises(ClientError, match=r"decisions.*2"):
        deployment.client(cloud, "sagemaker-runtime").invoke_endpoint(
            EndpointName=endpoints["decision"],
            ContentType="application/json",
            Body=json.dumps(demo.THREE_DECISIONS_OVER_ONE_STATE),
        )


def test_a_broken_model_archive_rolls_back_and_is_named(
    cloud: Cloud, endpoints: dict[str, str], first_archive: tuple[str, str]
) -> None:
    s3, (bucket, key) = deployment.client(cloud, "s3"), first_archive
    whole = s3.get_object(Bucket=bucket, Key=key)
    content = whole["Body"].read()
    s3.put_object(Bucket=bucket, Key=key, Body=content[: len(content) // 2], Metadata=whole["Metadata"])

    with Caller(cloud, endpoints["decision"], demo.ONE_DECISION) as caller, pytest.raises(DeploymentError) as caught:
        deployment.deploy(cloud)

    s3.put_object(Bucket=bucket, Key=key, Body=content, Metadata=whole["Metadata"])
    assert f"Failed to extract model data archive s3://{bucket}/{key}" in told(caught.value)
    assert "(all of it: " in told(caught.value)
    assert caller.failures == []
    assert caller.models() == ["tiny.gguf"]


def test_a_failing_image_build_stops_the_deployment_and_its_log_is_named(
    cloud: Cloud, endpoints: dict[str, str], other_checkout: Path, tiny_model: dict[str, str]
) -> None:
    change_model(other_checkout, tiny_model)
    dockerfile = other_checkout / "adapter" / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text().replace("FROM ${BASE_IMAGE}", "FROM python:3.12"))

    with Caller(cloud, endpoints["decision"], demo.ONE_DECISION) as caller, pytest.raises(DeploymentError) as caught:
        deployment.deploy(cloud, app=other_checkout)

    unpinned = "'FROM python:3.12 AS packages' is not pinned"
    for part in ("FAILED. BUILD: ", "python adapter/image_build.py", unpinned, "Log: "):
        assert part in told(caught.value)
    assert caller.failures == []
    assert caller.models() == ["tiny.gguf"]


def test_a_container_that_never_gets_healthy_rolls_back_and_its_log_is_named(
    cloud: Cloud, endpoints: dict[str, str], other_checkout: Path, tiny_model: dict[str, str]
) -> None:
    change_model(other_checkout, tiny_model)
    serve = other_checkout / "adapter" / "serve"
    serve.write_text('#!/bin/sh\necho "no such thing as a context"\nexit 4\n')

    with Caller(cloud, endpoints["decision"], demo.ONE_DECISION) as caller, pytest.raises(DeploymentError) as caught:
        deployment.deploy(cloud, app=other_checkout)

    message = told(caught.value)
    assert "production variant AllTraffic ended with status 4: no such thing as a context (log: " in message
    log = Path(message.partition("context (log: ")[2].partition(")")[0])
    assert log.read_text() == "no such thing as a context\n"
    assert caller.failures == []
    assert caller.models() == ["tiny.gguf"]
