"""The command as `make bench` runs it, as small as it gets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.rows import NAMES


def bench(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    # Two processes that compute in turn on a busy machine: a thread that waits must not spin.
    calm = {"SEMIF_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "300"}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        env={**os.environ, **calm, **own, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_quick_run_measures_every_row_and_writes_both_files(smollm2_gguf: Path, tmp_path: Path) -> None:
    # when
    run = bench("--model", str(smollm2_gguf), "--quick", "--output", str(tmp_path))
    # then
    assert run.returncode == 0, run.stderr
    assert "its numbers mean nothing" in run.stdout
    [as_json], [as_markdown] = tmp_path.glob("*.json"), tmp_path.glob("*.md")
    found = json.loads(as_json.read_text())
    assert [row["name"] for row in found["rows"]] == NAMES
    assert all(row["reached"]["median"] > 0 for row in found["rows"])
    assert found["quick"] is True
    assert [limit["row"] for limit in found["limits"]] == NAMES[:5]
    assert [point["size"] for point in found["curves"]["options of a question"]] == [2, 4]
    assert found["model"]["gguf"]["file"] == smollm2_gguf.name
    # and neither file says on which host or where on it
    for text in (as_json.read_text(), as_markdown.read_text()):
        assert str(smollm2_gguf.parent) not in text
        assert os.uname().nodename not in text


def test_a_missed_row_is_a_failure_only_when_that_is_asked_for(smollm2_gguf: Path) -> None:
    # given a row that is out of reach: the state is only four times as long as the question
    arguments = ("--model", str(smollm2_gguf), "--quick", "new-question")
    # when it is run with and without --strict
    plain, strict = bench(*arguments), bench(*arguments, "--strict")
    # then both say it, and one fails
    for run in (plain, strict):
        assert "(≥ 12×) MISSED" in run.stdout
    assert (plain.returncode, strict.returncode) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["new-row"], "'new-row' is no row; there are new-short-state, "),
        (["--model", "missing.gguf"], "'missing.gguf' does not exist"),
    ],
)
def test_what_is_wrong_with_the_command_is_said(smollm2_gguf: Path, arguments: list[str], sentence: str) -> None:
    run = bench("--model", str(smollm2_gguf), *arguments)
    assert run.returncode == 2
    assert sentence in run.stderr


def test_wrong_settings_are_one_sentence(smollm2_gguf: Path) -> None:
    run = bench("--model", str(smollm2_gguf), "--quick", SEMIF_THREADS="0")
    assert run.returncode == 1
    assert run.stderr.startswith("error: one setting is wrong: SEMIF_THREADS is '0'")
