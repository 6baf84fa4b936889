"""`decide --env local` against the deployed environment: nothing is exported, the folder says where the cloud is."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decide.batch.records import Record, records
from decide.batch.transform import Transform
from decide.target import Target
from decision_client import ClientSettings
from local_cloud import Cloud, demo
from tests.decide import command

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DECISION: dict[str, Any] = demo.ONE_DECISION["decision"]


@pytest.fixture
def folder(cloud: Cloud, endpoints: dict[str, str], tmp_path: Path) -> Path:
    """A checkout whose local cloud runs."""
    (tmp_path / ".local").symlink_to(cloud.state_dir)
    return tmp_path


@pytest.fixture
def decide(folder: Path) -> Callable[..., command.Ended]:
    """The command, run in that checkout."""

    def run(*arguments: str, **options: Any) -> command.Ended:
        return command.decide(*arguments, cwd=folder, **options)

    return run


def test_a_decision_and_what_answered_it(decide: Callable[..., command.Ended]) -> None:
    told = decide("invoke", "--env", "local", "--json", "--wait", "60", "-", given=json.dumps(demo.ONE_DECISION))
    assert told.status == 0, told.err
    assert told.json["result"]["option_ids"] == ["account", "billing", "sales"]
    models = decide("models", "--env", "local", "--json", "--wait", "60")
    assert models.json["gguf"]["sha256"] == SHA256


def test_labelled_decisions_are_evaluated(
    decide: Callable[..., command.Ended], folder: Path, repository_root: Path
) -> None:
    labels = (repository_root / "docs" / "examples" / "support-decisions.jsonl").read_text("utf-8").splitlines()[:6]
    (folder / "labelled.jsonl").write_text("\n".join(labels), encoding="utf-8")
    told = decide("evaluate", "--env", "local", "--json", "--report", "report.html", "labelled.jsonl")
    assert told.status == 0, told.err
    [run] = told.json["runs"]
    assert run["overall"]["valid"]["count"] == 6
    assert run["model"]["gguf"]["sha256"] == SHA256
    assert (folder / "labelled.local.run.jsonl").is_file()


def test_a_chat_is_streamed(decide: Callable[..., command.Ended]) -> None:
    shown = decide("chat", "--env", "local", "--max-tokens", "8", "--temperature", "0", "Say hello.")
    assert (shown.status, bool(shown.out.strip())) == (0, True), shown.err
    told = decide("chat", "--env", "local", "--max-tokens", "8", "--temperature", "0", "--json", given="Say hello.")
    assert told.json["content"].strip() == shown.out.strip()
    assert told.json["pieces"] > 1
    assert told.json["finish_reason"] == "length"


def test_status_shows_both_endpoints(decide: Callable[..., command.Ended], endpoints: dict[str, str]) -> None:
    told = decide("status", "--env", "local", "--json")
    assert told.status == 0, told.err
    assert {one["contract"]: one["name"] for one in told.json} == endpoints
    for one in told.json:
        assert one["status"] == "InService"
        [variant] = one["variants"]
        assert (variant["instances"], variant["instance_types"]) == (1, ["ml.c6i.large"])
        assert "@sha256:" in variant["image"]
        assert variant["model_archive"].endswith("/model.tar.gz")
    assert "InService" in decide("status", "--env", "local").out


def test_a_region_where_nothing_is_deployed_is_told(decide: Callable[..., command.Ended]) -> None:
    told = decide("status", "--env", "local", "--region", "eu-west-1")
    assert told.status == 6
    assert "in eu-west-1" in told.err


def test_a_file_is_answered_by_a_transform_job_as_by_the_endpoint(
    decide: Callable[..., command.Ended], folder: Path
) -> None:
    # given records, one of which the container refuses, and one that is none
    asked = [{**DECISION, "id": f"d{number}", "label": "account"} for number in range(3)]
    lines = [*map(json.dumps, asked), json.dumps({**DECISION, "options": []}), "{"]
    (folder / "in.jsonl").write_text("\n".join(lines))
    batch = ("batch", "in.jsonl", "--env", "local", "--json")
    # when
    job = decide(*batch, "-o", "job.jsonl", "--transform")
    live = decide(*batch, "-o", "live.jsonl")
    # then
    for told in (job, live):
        assert (told.status, told.json["answered"], told.json["failed"]) == (1, 3, 2), told.err
    by_job, by_endpoint = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()] for name in ("job.jsonl", "live.jsonl")
    )
    for one, other in zip(by_job, by_endpoint, strict=True):
        assert (one["line"], one["input"], one.get("label")) == (other["line"], other["input"], other.get("label"))
        assert one.get("status") == other.get("status")
        assert one.get("result", {}).get("option_logits") == other.get("result", {}).get("option_logits")
    assert not (folder / "job.jsonl.job").exists()


def test_a_job_that_an_interrupted_command_started_is_followed(
    decide: Callable[..., command.Ended], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given what such a command leaves, and a line that came later
    lines = [json.dumps({**DECISION, "id": f"d{number}"}) for number in range(2)]
    monkeypatch.chdir(folder)
    state = folder / "out.jsonl.job"
    jobs = Transform("local", Target(environment="local").session(), ClientSettings(), state)
    started = jobs.start([one for one in records([lines[0].encode()]) if isinstance(one, Record)], None)
    jobs.close()
    (folder / "in.jsonl").write_text("\n".join(lines))
    # when
    told = decide("batch", "in.jsonl", "-o", "out.jsonl", "--env", "local", "--transform")
    # then
    assert told.status == 0, told.err
    assert f"following the transform job {started.name}" in told.err
    assert "1 records" in told.err
    assert [json.loads(line)["result"]["id"] for line in (folder / "out.jsonl").read_text().splitlines()] == [
        "d0",
        "d1",
    ]


def test_a_benchmark_knows_the_instances(decide: Callable[..., command.Ended]) -> None:
    told = decide("benchmark", "--env", "local", "--callers", "1", "--words", "5", "--requests", "2", "--json")
    assert told.status == 0, told.err
    [measured] = told.json["endpoints"]
    assert measured["instance"] == "1 × ml.c6i.large"
    assert measured["model"]["gguf"]["sha256"] == SHA256


def test_every_call_of_the_page_for_this_environment_runs(folder: Path, repository_root: Path) -> None:
    # given the files that the page names, and the command on the path
    (folder / "request.json").write_text(json.dumps(demo.ONE_DECISION))
    (folder / "prompt.txt").write_text("Say hello.")
    (folder / "decisions.jsonl").write_text(json.dumps(DECISION))
    (folder / "decide").write_text(f'#!/bin/sh\nexec {sys.executable} -m decide "$@"\n')
    (folder / "decide").chmod(0o755)
    page = (repository_root / "docs" / "decide.md").read_text("utf-8")
    blocks = [block.replace("\\\n", " ") for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL)]
    here = re.compile(r"decide (invoke|chat|models|status|batch|benchmark) .*--env local")
    calls = [line for block in blocks for line in block.splitlines() if here.match(line)]
    assert len(calls) > 10
    variables = command.environment()
    for call in calls:
        # when it is run, and says what it has to say to a pipe
        ended = subprocess.run(
            ["bash", "-c", call],
            cwd=folder,
            env=variables | {"PATH": f"{folder}:{variables['PATH']}"},
            input="Say hello.",
            capture_output=True,
            text=True,
            check=False,
        )
        # then
        assert ended.returncode == 0, (call, ended.stderr)
        assert ended.stdout, call
