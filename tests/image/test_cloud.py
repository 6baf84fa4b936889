"""The local cloud with images that are built: the real CDK command, and containers of the images that it made."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local_cloud import Cloud, demo, deployment, start
from local_cloud.image import Built

pytestmark = pytest.mark.image


@pytest.fixture(scope="module")
def cloud(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud that builds images; `built` has made their layers already."""
    folder = tmp_path_factory.mktemp("cloud")
    with start(folder, detached=False, variables={"LOCAL_CLOUD_IMAGES": "built"}) as running:
        yield running


@pytest.fixture(scope="module")
def endpoints(cloud: Cloud) -> dict[str, str]:
    return demo.deploy(cloud)


def invoke(cloud: Cloud, endpoint: str, body: object) -> dict[str, Any]:
    answer = deployment.client(cloud, "sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, ContentType="application/json", Body=json.dumps(body)
    )
    read: dict[str, Any] = json.loads(answer["Body"].read())
    return read


def test_a_decision_comes_from_the_image(cloud: Cloud, endpoints: dict[str, str]) -> None:
    result = invoke(cloud, endpoints["decision"], demo.ONE_DECISION)["result"]
    assert result["option_ids"] == ["account", "billing", "sales"]
    # whose libraries find their backend at run time, as those of the laptop's own wheel do not
    (log,) = (cloud.state_dir / "logs" / "endpoints" / endpoints["decision"]).glob("*.log")
    assert "AMX is not used: libggml-cpu-sapphirerapids.so left out" in log.read_text()


def test_chat_is_answered_by_llama_server_itself(cloud: Cloud, endpoints: dict[str, str]) -> None:
    answer = invoke(cloud, endpoints["chat"], demo.CHAT)
    assert answer["choices"][0]["message"]["content"]
    # only llama-server tells its timings
    assert answer["timings"]["predicted_n"] > 0
