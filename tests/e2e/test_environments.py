"""Two environments in one account: neither notices the other come, answer and go."""

import hashlib
import json
from pathlib import Path

import pytest

from local_cloud import Cloud, demo, deployment
from tests.e2e.account import made_by, what_is_there
from tests.e2e.other_settings import settings_of
from tests.tiny_models import write_tiny_model

NEIGHBOUR = "neighbour"


@pytest.fixture
def app_with_a_neighbour(cloud: Cloud, other_app: Path, tmp_path: Path) -> Path:
    """The application with another environment: the settings of `local`, but a model of a megabyte."""
    path = write_tiny_model(tmp_path / "neighbour.gguf", "attention")
    deployment.client(cloud, "s3").upload_file(str(path), "decision-endpoints-local-models", path.name)
    uri = f"s3://decision-endpoints-local-models/{path.name}"
    with settings_of(other_app) as tables:
        tables["model"] = {"uri": uri, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    environments = other_app / "environments"
    (environments / "local.toml").rename(environments / f"{NEIGHBOUR}.toml")
    return other_app


def served_model(cloud: Cloud, endpoint: str) -> str:
    answer = deployment.client(cloud, "sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, ContentType="application/json", Body=json.dumps(demo.ONE_DECISION)
    )
    return str(json.load(answer["Body"])["result"]["model"]["gguf"]["file"])


def test_an_environment_comes_answers_and_goes_beside_another_that_serves_on(
    cloud: Cloud, endpoints: dict[str, str], app_with_a_neighbour: Path
) -> None:
    before, ours = what_is_there(cloud), made_by(cloud, deployment.ENVIRONMENT)

    try:
        deployment.deploy(cloud, app=app_with_a_neighbour, environment=NEIGHBOUR)
        theirs, made = deployment.endpoint_names(cloud, NEIGHBOUR), made_by(cloud, NEIGHBOUR)
        answered = served_model(cloud, theirs["decision"]), served_model(cloud, endpoints["decision"])
    finally:
        deployment.destroy(cloud, app=app_with_a_neighbour, environment=NEIGHBOUR)

    assert answered == ("neighbour.gguf", "SmolLM2-135M-Instruct.Q4_1.gguf")
    assert theirs.keys() == endpoints.keys()
    assert len(made) == len(ours)
    assert made & ours == set()
    # the first is what it was, and of the other nothing is left
    assert made_by(cloud, deployment.ENVIRONMENT) == ours
    assert what_is_there(cloud) == before
    assert served_model(cloud, endpoints["decision"]) == "SmolLM2-135M-Instruct.Q4_1.gguf"
