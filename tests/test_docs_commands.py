"""Each command of the docs is run by a test, or says that it needs an account."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

MARK = "needs an account"


class RunBy(NamedTuple):
    """The test that runs what a command runs: of a target of the Makefile, what stands in its recipe."""

    runs: str
    file: str
    test: str


CLOUD = ("tests/local_cloud/test_cloud.py", "test_command_line_starts_finds_and_stops")
DEMO = ("tests/e2e/test_deployment.py", "test_the_demo_uses_the_cloud_that_is_up_and_shows_what_it_deployed")
MEASURED = ("tests/benchmarks/test_command.py", "test_a_quick_run_measures_every_row_and_writes_both_files")
STRICT = ("tests/benchmarks/test_command.py", "test_a_missed_row_is_a_failure_only_when_that_is_asked_for")
HERE = ("tests/test_docs_commands.py", "test_the_policies_for_an_existing_role_are_shown_as_the_page_says")
POLICIES = '.Resources[] | select(.Type == "AWS::IAM::Policy").Properties.PolicyDocument'
RUN_BY = {
    "make demo": RunBy("python -m local_cloud demo", *DEMO),
    "make local-up": RunBy("python -m local_cloud up", *CLOUD),
    'eval "$(.venv/bin/python -m local_cloud status)"': RunBy("local_cloud status", *CLOUD),
    "make local-down": RunBy("python -m local_cloud down", *CLOUD),
    "make test": RunBy("python -m pytest", "tests/test_pipeline.py", "test_workflow_and_page_run_targets_that_the_"),
    "make bench": RunBy("python -m benchmarks", *MEASURED),
    'make bench BENCH="new-question growing-state"': RunBy("$(BENCH)", *STRICT),
    "make bench BENCH=--strict": RunBy("$(BENCH)", *STRICT),
    "make synth ENV=dev": RunBy("$(CDK) synth", *HERE),
    f"jq '{POLICIES}' cdk.out/*.template.json": RunBy("jq", *HERE),
    "pip install ./client": RunBy("pip install", "tests/test_docs_commands.py", "test_the_client_is_installed_alone"),
}

BY_PAGE = {
    "decide.md": ("tests/e2e/test_decide.py", "test_every_call_of_the_page_for_this_environment_runs"),
    "evaluate.md": ("tests/decide/evaluation/test_guides.py", "test_the_commands_and_code_of_the_guides_run"),
    "choose-options-and-thresholds.md": (
        "tests/decide/evaluation/test_guides.py",
        "test_the_commands_and_code_of_the_guides_run",
    ),
    "from-notebook-to-production.md": (
        "tests/decide/test_guide.py",
        "test_its_commands_are_targets_and_commands_that_there_are",
    ),
}
"""Pages whose own test reads the commands off them."""


def pages(repository_root: Path) -> list[Path]:
    return [
        *sorted((repository_root / "docs").glob("*.md")),
        *(repository_root / folder / "README.md" for folder in ("", "adapter", "client")),
    ]


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Each bash block, with the paragraph before it."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield text[: match.start()].strip().rpartition("\n\n")[2], match[1]


def commands(page: Path) -> Iterator[tuple[str, bool]]:
    """Each line of a bash block, and whether it, or the paragraph before, says that it needs an account."""
    for before, block in blocks(page):
        for line in block.splitlines():
            command, _, comment = re.sub(r"\s+# ", "\0", line).partition("\0")
            yield command.strip(), MARK in comment or MARK in before


def test_each_command_is_run_by_a_test_or_needs_an_account(repository_root: Path) -> None:
    every = {command for page in pages(repository_root) for command, _ in commands(page)}
    assert set(RUN_BY) <= every, "no page has these any more"
    for page in pages(repository_root):
        for command, marked in commands(page):
            assert marked or command in RUN_BY or page.name in BY_PAGE, (
                f"{page.name}: {command}: run it in a test and say which in RUN_BY, or mark it: {MARK}"
            )


@pytest.mark.parametrize("page", BY_PAGE)
def test_the_test_that_reads_a_page_is_there(repository_root: Path, page: str) -> None:
    file, test = BY_PAGE[page]
    assert f"def {test}" in (repository_root / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", RUN_BY)
def test_the_test_that_runs_a_command_is_there(repository_root: Path, command: str) -> None:
    runs, file, test = RUN_BY[command]
    assert f"def {test}" in (repository_root / file).read_text(encoding="utf-8")
    if command.startswith("make "):
        makefile = (repository_root / "Makefile").read_text(encoding="utf-8")
        [recipe] = re.findall(rf"^{command.split()[1]}: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert runs in recipe
    else:
        assert runs in command


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed here")
def test_the_policies_for_an_existing_role_are_shown_as_the_page_says(repository_root: Path) -> None:
    [(_, block)] = blocks(repository_root / "docs" / "security.md")
    # what is installed is not installed anew
    make = 'make() { command make -o .venv/.deploy -o node_modules/.installed "$@"; }\n'
    shown = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", make + block],
        cwd=repository_root,
        env={**os.environ, "PYTHONPATH": f"{repository_root}:{repository_root / 'constructs'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    for action in ("ecr:PutImage", "codebuild:StartBuild", "s3:GetObject", "ecr:BatchGetImage"):
        assert f'"{action}"' in shown.stdout


def test_the_client_is_installed_alone(repository_root: Path, tmp_path: Path) -> None:
    [(_, block)] = blocks(repository_root / "client" / "README.md")
    # a copy, since pip builds in the folder
    shutil.copytree(
        repository_root / "client", tmp_path / "client", ignore=shutil.ignore_patterns("build", "*.egg-info")
    )
    command = block.strip().replace("pip install", "pip install --quiet --no-deps --target installed")
    installed = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    assert (tmp_path / "installed" / "decision_client" / "py.typed").is_file()
