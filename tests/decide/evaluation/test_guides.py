"""The commands, code and examples of docs/evaluate.md and docs/choose-options-and-thresholds.md."""

import json
import re
import shlex
import shutil
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decide.evaluation import labelled
from decision_client import DecisionClient
from decision_constructs.model_settings import Model
from tests.decide.command import decide
from tests.decide.evaluation.endpoint import Endpoint, endpoint
from tests.decide.evaluation.rows import write

PAGES = ("evaluate", "choose-options-and-thresholds")
LABELS = "support-decisions.jsonl"
ACCOUNT = "needs an account"


@pytest.fixture(scope="module")
def examples(repository_root: Path) -> Path:
    return repository_root / "docs" / "examples" / LABELS


@pytest.fixture(scope="module")
def too_sure(examples: Path) -> Iterator[Endpoint]:
    """An endpoint that is right two times of three, and always very sure."""
    labels = {row["id"]: row["label"] for row in map(json.loads, examples.read_text("utf-8").splitlines())}

    def logits(decision: dict[str, Any]) -> list[float]:
        ids = [option["id"] for option in decision["options"]]
        right = zlib.crc32(decision["id"].encode()) % 3 != 0
        label = labels.get(decision["id"], ids[0])
        chosen = label if right else next(option_id for option_id in sorted(ids) if option_id != label)
        return [5.0 if option_id == chosen else 0.0 for option_id in ids]

    with endpoint(logits) as here:
        yield here


def blocks(root: Path, page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (root / "docs" / f"{page}.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture
def folder(examples: Path, too_sure: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader is: with the labels and a run from before; the environment `local` is the endpoint."""
    shutil.copy(examples, tmp_path)
    before = ("--url", too_sure.url, "--save", "support-decisions.before.run.jsonl")
    told = decide("evaluate", LABELS, *before, cwd=tmp_path)
    assert told.status == 0, told.err
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(DecisionClient, "from_environment", lambda _: DecisionClient.from_url(too_sure.url))
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_and_code_of_the_guides_run(
    page: str, folder: Path, too_sure: Endpoint, repository_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # when every command runs, in the order of the page, against a URL in place of the local cloud
    lines = [line for block in blocks(repository_root, page, "bash") for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("decide ")]
    ran = 0
    for command in commands:
        if ACCOUNT in command:
            continue
        _, *arguments = shlex.split(command, comments=True)
        if "--env" in arguments:
            place = arguments.index("--env")
            arguments[place : place + 2] = ["--url", too_sure.url, "--save", "support-decisions.local.run.jsonl"]
        told = decide(*arguments, cwd=folder)
        assert told.status == 0, told.err
        ran += 1
    # then
    assert ran >= 2
    assert len(commands) - ran == (page == "evaluate")
    for code in blocks(repository_root, page, "python"):
        exec(code, {})
        assert capsys.readouterr().out.strip()


def test_the_guide_s_lines_can_be_read(repository_root: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for block in blocks(repository_root, "evaluate", "json") for line in block.splitlines()]
    file = labelled.read(write(tmp_path / "labelled.jsonl", lines))
    assert [one.label for one in file.decisions] == ["billing", "yes", "yes", "1", "yes"]


def test_the_setting_of_the_guide_is_one(repository_root: Path) -> None:
    [example] = blocks(repository_root, "evaluate", "toml")
    assert tomllib.loads(example)["model"].keys() <= Model.model_fields.keys()
