"""What docs/from-notebook-to-production.md shows works, from the first decision to the test of the application."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from decision_client import DecisionClient
from tests.decide.command import decide

PAGE = Path("docs") / "from-notebook-to-production.md"


def blocks(root: Path, language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", (root / PAGE).read_text("utf-8"), re.DOTALL)
    return found


def test_its_python_runs_from_top_to_bottom_and_its_rows_can_be_evaluated(
    url: str,
    repository_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in blocks(repository_root, "python"):
        exec(code.replace('DecisionClient.from_environment("local")', f'DecisionClient.from_url("{url}")'), names)
    # its results are those of its messages
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["m1", "m2", "m3"]
    client = names["client"]
    assert isinstance(client, DecisionClient)
    client.close()
    # and the command reads what it has labelled
    [command] = re.findall(r"^decide (evaluate .*) --env local(.*)$", "".join(blocks(repository_root, "bash")), re.M)
    ended = decide(*shlex.split(command[0]), "--url", url, *shlex.split(command[1]), cwd=tmp_path)
    assert ended.status == 0, ended.err
    assert "3/3" in ended.out
    assert (tmp_path / "report.html").is_file()


def test_its_commands_are_targets_and_commands_that_there_are(repository_root: Path) -> None:
    lines = "\n".join(blocks(repository_root, "bash"))
    makefile = (repository_root / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^make ([\w-]+)", lines, re.MULTILINE))
    commands = set(re.findall(r"^decide ([\w-]+)", lines, re.MULTILINE))
    assert targets
    assert commands
    for target in targets:
        assert re.search(rf"^[\w -]*\b{target}\b[\w -]*:", makefile, re.MULTILINE), target
    assert commands <= {file.stem for file in (repository_root / "client" / "decide" / "commands").glob("*.py")}


def test_its_links_lead_somewhere(repository_root: Path) -> None:
    page = (repository_root / PAGE).read_text("utf-8")
    for link in re.findall(r"\]\(([^)#]+)", page):
        assert (repository_root / "docs" / link).is_file(), link
