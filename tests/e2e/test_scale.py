"""Instances that follow the load of a deployed endpoint, and decisions in bulk by the example of docs/scale.md."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud import Cloud, client_settings, demo, deployment
from tests.e2e.caller import Caller
from tests.e2e.other_settings import settings_of

PATIENCE_SECONDS = 120.0
SCALING = {
    "max_count": 2,
    "target_concurrency": 1.5,
    "scale_out_cooldown_seconds": 0,
    "scale_in_cooldown_seconds": 0,
}


def test_a_list_of_decisions_is_scored_in_bulk_as_the_docs_say(
    cloud: Cloud, endpoints: dict[str, str], repository_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [example] = re.findall(
        r"```python\n(.*?)```", (repository_root / "docs" / "scale.md").read_text("utf-8"), re.DOTALL
    )
    for name, value in client_settings(cloud).items():
        monkeypatch.setenv(name, value)
    decisions = [{**demo.ONE_DECISION["decision"], "id": f"d{number}"} for number in range(5)]
    decisions.insert(3, {"id": "bad"})
    scope: dict[str, Any] = {"environment": deployment.ENVIRONMENT, "decisions": decisions}

    exec(example, scope)

    assert [result["id"] for result in scope["results"]] == ["d0", "d1", "d2", "d3", "d4"]
    assert [answer.get("status") for answer in scope["answers"]] == [None, None, None, 400, None, None]
    assert scope["files"] == 2
    job = deployment.client(cloud, "sagemaker").describe_transform_job(TransformJobName=scope["name"])
    assert job["TransformJobStatus"] == "Completed"
    with Caller(cloud, endpoints["decision"], demo.ONE_DECISION) as caller:
        pass
    assert scope["results"][0]["prompt_sha256"] == caller.results[0]["prompt_sha256"]
    assert scope["results"][0]["model"]["gguf"] == caller.results[0]["model"]["gguf"]


@pytest.fixture
def scaled(cloud: Cloud, endpoints: dict[str, str], other_app: Path) -> Iterator[str]:
    """The decision endpoint, deployed with scaling."""
    with settings_of(other_app) as tables:
        tables["decision"] |= {"max_in_flight": 8, "scaling": SCALING}
    deployment.deploy(cloud, app=other_app)
    yield endpoints["decision"]
    deployment.deploy(cloud)


def wait_for_instances(cloud: Cloud, endpoint: str, count: int) -> None:
    sagemaker = deployment.client(cloud, "sagemaker")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        described = sagemaker.describe_endpoint(EndpointName=endpoint)
        if described["ProductionVariants"][0]["CurrentInstanceCount"] == count:
            return
        time.sleep(0.2)
    raise AssertionError(f"not {count} instances within {PATIENCE_SECONDS} s: {described}")


def test_instances_come_and_go_with_the_load_and_no_caller_meets_a_failure(cloud: Cloud, scaled: str) -> None:
    with Caller(cloud, scaled, demo.ONE_DECISION) as steady:
        crowd = [Caller(cloud, scaled, demo.ONE_DECISION) for _ in range(3)]
        with crowd[0], crowd[1], crowd[2]:
            wait_for_instances(cloud, scaled, 2)
        wait_for_instances(cloud, scaled, 1)

    assert [failure for caller in (steady, *crowd) for failure in caller.failures] == []
