"""InvokeEndpoint through boto3: what reaches the container, what comes back, and how errors look to the caller."""

import asyncio
import contextlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from local_cloud.deployment_policy import Alarms
from local_cloud.endpoint import Endpoint
from local_cloud.errors import ModelError
from local_cloud.invocation import Invoker
from local_cloud.resources import ENDPOINT, Table
from local_cloud.running_variant import RunningVariant


@dataclass(eq=False)
class StubContainer:
    """What there is of a container that somebody else runs."""

    port: int
    log = SimpleNamespace(path=Path("primary.log"))
    wait_until_ended = staticmethod(threading.Event().wait)


def test_request_and_answer_pass_through_with_their_content_types(workshop, stub_endpoint):
    response = workshop.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=stub_endpoint, ContentType="application/json", Accept="application/x-stub", Body=b"{}"
    )

    answer = json.loads(response["Body"].read())
    assert response["ContentType"] == "application/x-stub"
    assert response["InvokedProductionVariant"] == "primary"
    assert response["ResponseMetadata"]["HTTPHeaders"]["x-local-cloud-container"].startswith("http://127.0.0.1:")
    assert (answer["content_type"], answer["accept"]) == ("application/json", "application/x-stub")


def test_container_runs_what_was_built_with_the_deployed_environment(workshop, cloud, stub_endpoint):
    answer = workshop.invoke(stub_endpoint)

    environment = answer["environment"]
    assert environment["STUB_NAME"] == "first"
    assert environment["SEMIF_HOST"] == "127.0.0.1"
    assert environment["SEMIF_PLAYGROUND"] == "1"
    assert Path(answer["file"]).is_relative_to(cloud.state_dir / "images")
    # A path under /opt/ml/model means the extracted archive.
    assert environment["STUB_PATH"] == f"{environment['SEMIF_MODEL_DIR']}/model.gguf"
    assert answer["model"] == ["model.gguf"]


def test_container_error_is_a_model_error_with_status_and_body(workshop, stub_endpoint):
    with pytest.raises(ClientError) as caught:
        workshop.invoke(stub_endpoint, status=503, answer='{"error": "busy", "retryable": true}')

    response = caught.value.response
    assert response["Error"]["Code"] == "ModelError"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert response["OriginalStatusCode"] == 503
    assert json.loads(response["OriginalMessage"]) == {"error": "busy", "retryable": True}
    assert response["LogStreamArn"].endswith(f"log-group:/aws/sagemaker/Endpoints/{stub_endpoint}")
    assert 'server error (503) from primary with message "{"error": "busy"' in response["Error"]["Message"]


def test_client_error_of_the_container_is_named_so(workshop, stub_endpoint):
    with pytest.raises(ClientError, match=r"Received client error \(400\)"):
        workshop.invoke(stub_endpoint, status=400, answer="bad")


def test_missing_endpoint_is_a_validation_error(workshop):
    with pytest.raises(ClientError) as caught:
        workshop.invoke("nowhere")

    assert caught.value.response["Error"]["Code"] == "ValidationError"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert "nowhere of account 000000000000 not found" in caught.value.response["Error"]["Message"]


def test_unknown_target_variant_names_those_there_are(workshop, stub_endpoint):
    with pytest.raises(ClientError, match=r"Variant other not found .* it has primary"):
        workshop.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=stub_endpoint, TargetVariant="other", Body=b"{}"
        )


def test_body_over_the_limit_is_refused_with_both_sizes(workshop, stub_endpoint):
    with pytest.raises(ClientError, match="the body has 26214401 bytes; the limit is 26214400"):
        workshop.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=stub_endpoint, Body=b"x" * (25 * 1024 * 1024 + 1)
        )


def test_invocations_run_at_the_same_time(workshop, stub_endpoint):
    runtime = workshop.client("sagemaker-runtime", max_pool_connections=20)
    body = json.dumps({"sleep": 1})

    started = time.monotonic()
    with ThreadPoolExecutor(20) as pool:
        calls = [pool.submit(runtime.invoke_endpoint, EndpointName=stub_endpoint, Body=body) for _ in range(20)]
        statuses = {call.result()["ResponseMetadata"]["HTTPStatusCode"] for call in calls}

    assert statuses == {200}
    assert time.monotonic() - started < 10


def test_container_that_dies_is_reported_with_its_exit_status_and_replaced(
    workshop, stub_image, stub_archive, eventually
):
    endpoint = workshop.endpoint(workshop.config(workshop.model(stub_image, stub_archive)))

    with pytest.raises(ClientError, match="the container ended with status 9; see ") as caught:
        workshop.invoke(endpoint, die=True)

    assert caught.value.response["OriginalStatusCode"] == 500

    def answered() -> bool:
        with contextlib.suppress(ClientError):
            return "environment" in workshop.invoke(endpoint)
        return False

    assert eventually(answered)


def test_streamed_answer_arrives_as_payload_parts(workshop, stub_endpoint):
    response = workshop.client("sagemaker-runtime").invoke_endpoint_with_response_stream(
        EndpointName=stub_endpoint, Body=json.dumps({"answer": "x" * 100_000})
    )

    parts = [event["PayloadPart"]["Bytes"] for event in response["Body"]]
    assert b"".join(parts) == b"x" * 100_000
    assert response["ContentType"] == "application/x-stub"


def test_answer_over_its_time_is_a_model_error(workshop, stub_endpoint):
    # The platform's limit is 60 s: the invoker itself, with a shorter one, and the container behind the endpoint.
    port = int(workshop.invoke(stub_endpoint)["environment"]["SEMIF_PORT"])
    table: Table[Endpoint] = Table(ENDPOINT)
    variant = RunningVariant({"VariantName": "primary"}, "image", lambda: StubContainer(port))
    variant.scale(1)
    table.add("slow", Endpoint("slow", lambda *_: (), Alarms(None), variants=(variant,)))

    async def invoke():
        return await Invoker(table, response_timeout_seconds=0.3).invoke(
            "/endpoints/slow/invocations", {}, json.dumps({"sleep": 2}).encode()
        )

    with pytest.raises(ModelError, match="Your invocation timed out while waiting for a response") as caught:
        asyncio.run(invoke())

    assert caught.value.fields["OriginalStatusCode"] == 0


def test_two_variants_share_an_endpoint_and_can_be_told_apart(workshop, stub_image, stub_archive, unique):
    models = {name: workshop.model(stub_image, stub_archive, STUB_NAME=name) for name in ("blue", "green")}
    config = unique("config")
    workshop.client("sagemaker").create_endpoint_config(
        EndpointConfigName=config,
        ProductionVariants=[
            {
                "VariantName": name,
                "ModelName": model,
                "InstanceType": "ml.c6i.large",
                "InitialInstanceCount": 1,
                "InitialVariantWeight": 1.0 if name == "blue" else 0.0,
            }
            for name, model in models.items()
        ],
    )
    endpoint = workshop.endpoint(config)

    by_weight = {workshop.invoke(endpoint)["environment"]["STUB_NAME"] for _ in range(5)}
    response = workshop.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, TargetVariant="green", Body=b"{}"
    )

    assert by_weight == {"blue"}
    assert response["InvokedProductionVariant"] == "green"
    assert json.loads(response["Body"].read())["environment"]["STUB_NAME"] == "green"


def test_requests_succeed_throughout_an_update(workshop, stub_image, stub_archive):
    configs = [workshop.config(workshop.model(stub_image, stub_archive, STUB_NAME=name)) for name in ("old", "new")]
    endpoint = workshop.endpoint(configs[0])
    served = []

    workshop.client("sagemaker").update_endpoint(EndpointName=endpoint, EndpointConfigName=configs[1])
    deadline = time.monotonic() + 30
    while (not served or served[-1] != "new") and time.monotonic() < deadline:
        served.append(workshop.invoke(endpoint)["environment"]["STUB_NAME"])

    assert set(served) <= {"old", "new"}
    assert served[-1] == "new"
    assert served == sorted(served, reverse=True)
