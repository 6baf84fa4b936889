"""`make demo`: the whole way from settings to answers, on the laptop, with nothing left running."""

import json
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from local_cloud import deployment
from local_cloud.cloud import Cloud, discover, start
from local_cloud.invocation import CONTAINER_HEADER
from local_cloud.step import console, step

_BAR_WIDTH = 30
_PARENT_POLL_SECONDS = 0.5

QUEUES = [
    {"id": "account", "description": "Account access and authentication support."},
    {"id": "billing", "description": "Billing and payment support."},
    {"id": "sales", "description": "Sales and product evaluation."},
]
ONE_DECISION: dict[str, Any] = {
    "decision": {
        "id": "route",
        "state": "Customer asks to reset a forgotten password and says the reset email never arrived.",
        "question": "Which queue should handle this request?",
        "options": QUEUES,
    }
}
INCIDENT = {
    "service": "checkout",
    "alert": "p95 latency 4.2 s for 10 minutes, error rate 0.3 %",
    "recent": ["deployed 14 minutes ago", "database CPU 41 %", "traffic as usual"],
}
THREE_DECISIONS_OVER_ONE_STATE: dict[str, Any] = {
    "decisions": [
        {
            "id": "action",
            "state": INCIDENT,
            "question": "What should the on-call engineer do first?",
            "options": [
                {"id": "rollback", "description": "Roll the deployment back."},
                {"id": "wait", "description": "Wait and watch."},
                {"id": "scale", "description": "Add database capacity."},
            ],
        },
        {
            "id": "page",
            "state": INCIDENT,
            "question": "Should a second engineer be paged?",
            "options": [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}],
        },
        {
            "id": "severity",
            "state": INCIDENT,
            "question": "How severe is it?",
            "options": [
                {"id": "low", "description": "Nobody notices."},
                {"id": "medium", "description": "Some customers wait."},
                {"id": "high", "description": "Orders are lost."},
            ],
        },
    ]
}
CHAT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Name three primary colours."}],
    "max_tokens": 40,
    "temperature": 0,
}


@dataclass(frozen=True)
class Invocation:
    """An answer and how long the caller waited for it."""

    answer: dict[str, Any]
    seconds: float
    container: str
    """The URL of the container that gave it."""


def demo(state_dir: Path) -> None:
    """Deploy to the cloud that is up, or to a new one that ends with this process, and show what answers."""
    end_with_parent()
    running = discover(state_dir)
    if running is not None:
        console.print(f"Using the cloud that is up at {running.endpoint_url}.")
        console.print(f"\nTry decisions in a browser: {_deploy_and_invoke(running)}")
        return
    with step("starting the local cloud"):
        cloud = start(state_dir, detached=False)
    with cloud:
        _deploy_and_invoke(cloud)
        with step("stopping the local cloud"):
            cloud.stop()
    console.print(
        "\nKeep it up, call it yourself and try decisions in a browser: [bold]make local-up[/bold], and "
        "[bold]make local-down[/bold] to end it."
    )


def deploy(cloud: Cloud) -> dict[str, str]:
    """Run the deployment step by step; returns the endpoint names by contract."""
    with step("putting SmolLM2-135M into the model bucket"):
        deployment.put_model(cloud)
    with step("cdk bootstrap"):
        deployment.bootstrap(cloud)
    with step("cdk deploy: builds the model archive and the image, starts the endpoints"):
        deployment.deploy(cloud)
    return deployment.endpoint_names(cloud)


def playground(cloud: Cloud, endpoints: dict[str, str]) -> str:
    """The address of the page of the decision endpoint's container, once that has scored a decision."""
    return _invoke(cloud, endpoints["decision"], ONE_DECISION).container


def _deploy_and_invoke(cloud: Cloud) -> str:
    """Deploy and show what answers; the address of the decision container's page."""
    endpoints = deploy(cloud)
    _show_deployed(cloud, endpoints)
    one = _invoke(cloud, endpoints["decision"], ONE_DECISION)
    _show_decision("One decision", ONE_DECISION["decision"], one.answer["result"], one.seconds)
    several = _invoke(cloud, endpoints["decision"], THREE_DECISIONS_OVER_ONE_STATE)
    decisions, results = THREE_DECISIONS_OVER_ONE_STATE["decisions"], several.answer["results"]
    for number, (decision, result) in enumerate(zip(decisions, results, strict=True), start=1):
        _show_decision(f"{number} of {len(results)} over one state", decision, result, several.seconds)
    chat = _invoke(cloud, endpoints["chat"], CHAT)
    console.print(f"\n[bold]Chat[/bold]  {CHAT['messages'][0]['content']}  [dim]{chat.seconds * 1000:.0f} ms[/dim]")
    console.print(f"  {chat.answer['choices'][0]['message']['content'].strip()}", markup=False)
    return one.container


def _invoke(cloud: Cloud, endpoint: str, body: dict[str, Any]) -> Invocation:
    runtime = deployment.client(cloud, "sagemaker-runtime")
    started = time.perf_counter()
    response = runtime.invoke_endpoint(EndpointName=endpoint, ContentType="application/json", Body=json.dumps(body))
    answer = json.loads(response["Body"].read())
    seconds = time.perf_counter() - started
    return Invocation(answer, seconds, response["ResponseMetadata"]["HTTPHeaders"][CONTAINER_HEADER])


def _show_deployed(cloud: Cloud, endpoints: dict[str, str]) -> None:
    sagemaker = deployment.client(cloud, "sagemaker")
    table = Table("contract", "endpoint", "status", "container", "model archive", box=None, header_style="dim")
    for contract, name in sorted(endpoints.items()):
        endpoint = sagemaker.describe_endpoint(EndpointName=name)
        config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
        model = sagemaker.describe_model(ModelName=config["ProductionVariants"][0]["ModelName"])
        container = model["PrimaryContainer"]
        image, archive = container["Image"].partition("@")[2], container["ModelDataUrl"].partition("models/")[2]
        table.add_row(contract, name, endpoint["EndpointStatus"], image[:19] + "…", archive[:12] + "…")
    console.print("\n[bold]Deployed[/bold]")
    console.print(table)


def _show_decision(title: str, decision: dict[str, Any], result: dict[str, Any], seconds: float) -> None:
    console.print(f"\n[bold]{title}[/bold]  {decision['question']}  [dim]{seconds * 1000:.0f} ms[/dim]")
    table = Table(box=None, show_header=False)
    descriptions = {option["id"]: option["description"] for option in decision["options"]}
    for option_id, probability in zip(result["option_ids"], result["probabilities"], strict=True):
        bar = "█" * round(probability * _BAR_WIDTH)
        table.add_row(
            f"  {option_id}", f"{probability:6.1%}", f"[cyan]{bar:<{_BAR_WIDTH}}[/cyan]", descriptions[option_id]
        )
    console.print(table)
    console.print(
        f"  [dim]{result['input_tokens']} tokens, {result['allowed_token_mass']:.1%} of the mass on the options, "
        f"{result['probability_status']}[/dim]"
    )


def end_with_parent() -> None:
    """End, with the cloud, when the process that started this one is gone, or asks."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_POLL_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
