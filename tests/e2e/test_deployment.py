"""The environment `local`, deployed by the real CDK command to the local cloud and called with boto3."""

import json
import math
import re
import subprocess
import sys
import time
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from decision_client import (
    Backoff,
    BusyError,
    ClientSettings,
    Decision,
    DecisionClient,
    InvalidRequestError,
    NotFoundError,
)
from decision_constructs import settings
from local_cloud import Cloud, client_environment, client_settings, demo, deployment
from local_cloud.cloud import REPOSITORY_ROOT
from local_cloud.errors import DeploymentError

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def invoke(cloud: Cloud, endpoint: str, body: object) -> dict[str, Any]:
    response = deployment.client(cloud, "sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, ContentType="application/json", Body=json.dumps(body)
    )
    answer: dict[str, Any] = json.loads(response["Body"].read())
    return answer


def builds(cloud: Cloud) -> set[str]:
    return set(deployment.client(cloud, "codebuild").list_builds()["ids"])


def test_a_decision_comes_back_with_probabilities_and_what_produced_them(
    cloud: Cloud, endpoints: dict[str, str]
) -> None:
    result = invoke(cloud, endpoints["decision"], demo.ONE_DECISION)["result"]
    assert result["id"] == "route"
    assert result["option_ids"] == ["account", "billing", "sales"]
    assert math.isclose(sum(result["probabilities"]), 1.0, abs_tol=1e-9)
    assert 0 < result["allowed_token_mass"] <= 1
    assert SHA256 in json.dumps(result["model"])


def test_the_container_has_a_page_to_try_decisions_on(cloud: Cloud, endpoints: dict[str, str]) -> None:
    with urllib.request.urlopen(demo.playground(cloud, endpoints)) as answer:
        page = answer.read().decode()
    assert "<title>Decision playground</title>" in page


def test_decisions_over_one_state_score_the_same_bits_as_alone(cloud: Cloud, endpoints: dict[str, str]) -> None:
    shared = invoke(cloud, endpoints["decision"], demo.THREE_DECISIONS_OVER_ONE_STATE)["results"]
    alone = [
        invoke(cloud, endpoints["decision"], {"decision": decision})["result"]
        for decision in demo.THREE_DECISIONS_OVER_ONE_STATE["decisions"]
    ]
    assert [one["id"] for one in shared] == ["action", "page", "severity"]
    assert [one["option_logits"] for one in shared] == [one["option_logits"] for one in alone]
    assert [one["prompt_sha256"] for one in shared] == [one["prompt_sha256"] for one in alone]


def invoke_patiently(cloud: Cloud, endpoint: str, body: str, content_type: str) -> tuple[str, int]:
    """The answer's text, and how often the container was busy first."""
    runtime = deployment.client(cloud, "sagemaker-runtime")
    for times_busy in range(1000):
        try:
            response = runtime.invoke_endpoint(EndpointName=endpoint, ContentType=content_type, Body=body)
            return response["Body"].read().decode(), times_busy
        except runtime.exceptions.ModelError as error:
            if error.response["OriginalStatusCode"] != 503:
                raise
            time.sleep(0.1)
    raise AssertionError("busy all the time")


def long_state() -> str:
    """Text whose decision takes seconds, new each time. It may be over before it is met: then ask once more."""
    return f"{uuid.uuid4()} " + "It never arrived. " * 150


OPENAI = {
    "model": "any",
    "input": json.dumps(demo.INCIDENT),
    "questions": [{"type": "predicate", "name": "page", "instructions": "A second engineer should be paged."}],
}


def test_an_endpoint_answers_openai_s_contract_by_the_shape_of_the_body(
    cloud: Cloud, endpoints: dict[str, str]
) -> None:
    answer = invoke(cloud, endpoints["decision"], OPENAI)
    [predicate] = answer["answers"]
    assert (predicate["type"], predicate["name"]) == ("predicate", "page")
    assert 0 < predicate["probability"] < 1
    assert SHA256 in json.dumps(answer["x_model"])


def test_an_endpoint_answers_system_one_s_contract_by_the_shape_of_the_body(
    cloud: Cloud, endpoints: dict[str, str]
) -> None:
    questions = {"page": {"type": "noul", "instructions": "Should a second engineer be paged?"}}
    body = {"model": "jev-latest", "state": demo.INCIDENT, "questions": questions}
    answer = invoke(cloud, endpoints["decision"], body)
    assert 0 < answer["answers"]["page"]["noul"] < 1
    assert SHA256 in json.dumps(answer["x_model"])


def test_json_lines_are_answered_line_by_line(cloud: Cloud, endpoints: dict[str, str]) -> None:
    body = "\n".join([json.dumps(demo.ONE_DECISION), '{"decision": 7}', json.dumps(OPENAI)])
    runtime = deployment.client(cloud, "sagemaker-runtime")
    response = runtime.invoke_endpoint(
        EndpointName=endpoints["decision"], ContentType="application/jsonlines", Body=body
    )
    assert response["ContentType"] == "application/jsonlines"
    decided, refused, answered = map(json.loads, response["Body"].read().splitlines())
    assert decided["result"]["id"] == "route"
    assert refused == {"line": 2, "status": 400, "error": "decision: must be an object, got number"}
    assert answered["answers"][0]["name"] == "page"


@pytest.mark.parametrize(
    ("content_type", "body", "answered"),
    [
        ("application/json", json.dumps(OPENAI), '"answers"'),
        ("application/jsonlines", json.dumps(demo.ONE_DECISION) + "\n", '{"result":'),
    ],
)
def test_a_busy_container_says_so_and_the_same_request_succeeds_later(
    cloud: Cloud, endpoints: dict[str, str], content_type: str, body: str, answered: str
) -> None:
    times_busy = 0
    while not times_busy:
        # given a decision that takes seconds
        long = {"decision": {**demo.ONE_DECISION["decision"], "state": long_state()}}
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(invoke_patiently, cloud, endpoints["decision"], json.dumps(long), "application/json")
            # when another request meets it, and comes again as long as it is told to
            while not times_busy and not held.done():
                text, times_busy = invoke_patiently(cloud, endpoints["decision"], body, content_type)
        assert "result" in json.loads(held.result()[0])
    # then both are answered
    assert answered in text


def test_the_client_of_semif_s_page_is_answered(cloud: Cloud, endpoints: dict[str, str], repository_root: Path) -> None:
    # given the page's function, for the endpoint that is deployed here
    page = (repository_root / "docs" / "semif.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    code = code.replace("decision-endpoints-dev-decision", endpoints["decision"])
    # when it is called
    call = f"{code}\nprint(json.dumps(decide({demo.ONE_DECISION!r})))"
    told = subprocess.run(
        [sys.executable, "-c", call], env=client_environment(cloud), capture_output=True, text=True, check=False
    )
    # then
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["result"]["id"] == "route"


def test_the_client_of_the_readme_is_answered(
    cloud: Cloud, endpoints: dict[str, str], repository_root: Path, tmp_path: Path
) -> None:
    # given the page's code, with nothing but the client on its path
    [code] = re.findall(r"```python\n(.*?)```", (repository_root / "README.md").read_text("utf-8"), re.DOTALL)
    environment = client_environment(cloud) | {"PYTHONPATH": str(repository_root / "client")}
    # when it is run by a shell that is pointed at the cloud, elsewhere
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    # then
    assert told.returncode == 0, told.stderr
    assert told.stdout == "account\n"


def test_the_client_retries_a_busy_endpoint_and_tells_what_it_refuses(
    cloud: Cloud, endpoints: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in client_settings(cloud).items():
        monkeypatch.setenv(name, value)
    route = Decision.model_validate(demo.ONE_DECISION["decision"])
    incident = [Decision.model_validate(one) for one in demo.THREE_DECISIONS_OVER_ONE_STATE["decisions"]]
    once = ClientSettings(backoff=Backoff(deadline_seconds=0))
    with (
        DecisionClient.from_environment("local") as patient,
        DecisionClient.from_endpoint(endpoints["decision"], settings=once) as impatient,
        ThreadPoolExecutor(1) as pool,
    ):
        busy: BusyError | None = None
        while busy is None:
            # given a decision that takes seconds
            held = pool.submit(patient.decide, route.model_copy(update={"state": long_state()}))
            # when another meets it, then it is told that the endpoint is busy
            while busy is None and not held.done():
                try:
                    impatient.decide(route)
                except BusyError as error:
                    busy = error
        assert (busy.status, busy.retryable) == (503, True)
        # and those that come again are answered
        told = patient.decide_many([*incident, route])
        assert [one.id for one in told] == ["action", "page", "severity", "route"]
        assert [one.timing.batch_size if one.timing else None for one in told] == [3, 3, 3, None]
        assert held.result().id == "route"
        # and a refusal is the container's own sentence
        with pytest.raises(InvalidRequestError, match=r"^decision.options: "):
            impatient.decide(route.model_copy(update={"options": route.options[:1]}))
    with pytest.raises(NotFoundError, match="check the environment's name"):
        DecisionClient.from_environment("nowhere")


def test_the_same_model_chats(cloud: Cloud, endpoints: dict[str, str]) -> None:
    answer = invoke(cloud, endpoints["chat"], demo.CHAT)
    assert answer["choices"][0]["message"]["role"] == "assistant"
    assert answer["choices"][0]["message"]["content"].strip()


def test_a_refusal_reaches_the_caller_with_the_container_s_status_and_sentence(
    cloud: Cloud, endpoints: dict[str, str]
) -> None:
    one_option = {"decision": {**demo.ONE_DECISION["decision"], "options": demo.QUEUES[:1]}}
    with pytest.raises(ClientError) as caught:
        invoke(cloud, endpoints["decision"], one_option)
    response: Any = caught.value.response
    assert response["Error"]["Code"] == "ModelError"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert response["OriginalStatusCode"] == 400
    assert "options" in json.loads(response["OriginalMessage"])["error"]


@pytest.mark.parametrize("contract", ["chat", "decision"])
def test_sagemaker_runs_each_container_by_digest_from_our_own_repository(
    cloud: Cloud, endpoints: dict[str, str], contract: str
) -> None:
    sagemaker = deployment.client(cloud, "sagemaker")
    endpoint = sagemaker.describe_endpoint(EndpointName=endpoints[contract])
    config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    model = sagemaker.describe_model(ModelName=config["ProductionVariants"][0]["ModelName"])
    repository, digest = model["PrimaryContainer"]["Image"].split("@")
    ours = deployment.client(cloud, "ecr").describe_repositories()["repositories"]
    [name] = [one["repositoryName"] for one in ours if one["repositoryUri"] == repository]
    images = deployment.client(cloud, "ecr").describe_images(repositoryName=name)["imageDetails"]
    assert digest in [image["imageDigest"] for image in images]


def test_the_chat_container_is_a_copy_of_the_pinned_one(cloud: Cloud, endpoints: dict[str, str]) -> None:
    [deployed] = deployment.client(cloud, "sagemaker").describe_endpoint(EndpointName=endpoints["chat"])[
        "ProductionVariants"
    ][0]["DeployedImages"]
    pinned = settings.load("local", REPOSITORY_ROOT / "environments").images.cpu
    assert deployed["ResolvedImage"].partition("@")[2] == pinned.partition("@")[2]
    assert not deployed["ResolvedImage"].startswith("public.ecr.aws/")


def test_a_second_deployment_builds_nothing_and_leaves_the_endpoints_alone(
    cloud: Cloud, endpoints: dict[str, str]
) -> None:
    sagemaker = deployment.client(cloud, "sagemaker")
    before = builds(cloud), sagemaker.describe_endpoint(EndpointName=endpoints["decision"])["EndpointConfigName"]
    deployment.deploy(cloud)
    assert before == (
        builds(cloud),
        sagemaker.describe_endpoint(EndpointName=endpoints["decision"])["EndpointConfigName"],
    )


def test_a_model_that_fails_its_checksum_stops_the_deployment_and_the_old_one_serves_on(
    cloud: Cloud, endpoints: dict[str, str], other_app: Path
) -> None:
    settings = other_app / "environments" / "local.toml"
    settings.write_text(settings.read_text().replace(SHA256, "0" * 64))

    with pytest.raises(DeploymentError) as caught:
        deployment.deploy(cloud, app=other_app)

    told = " ".join(str(caught.value).split())
    for part in ("FAILED. BUILD: ", "python -m model_build", SHA256, "0" * 64, "Log: "):
        assert part in told
    assert invoke(cloud, endpoints["decision"], demo.ONE_DECISION)["result"]["option_ids"]


def test_the_demo_uses_the_cloud_that_is_up_and_shows_what_it_deployed(
    cloud: Cloud, endpoints: dict[str, str], repository_root: Path
) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "local_cloud", "demo", "--state-dir", str(cloud.state_dir)],
        cwd=repository_root,
        env={**client_environment(cloud), "COLUMNS": "140"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    for text in (*endpoints.values(), "InService", "Which queue should handle this request?", "account", "%", "ms"):
        assert text in shown.stdout
