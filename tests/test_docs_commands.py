"""Each command of the docs is run by a test, or says that it needs an account."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.decide.command import decide

MARK = "needs an account"
OWN_TEST = {
    "choose-options-and-thresholds.md": "tests/decide/evaluation/test_guides.py",
    "evaluate.md": "tests/decide/evaluation/test_guides.py",
    "from-notebook-to-production.md": "tests/decide/test_guide.py",
}
"""The pages whose commands a test of theirs runs, or looks at."""


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
PACKAGE = "tests/decide/test_package.py"
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
    "make image": RunBy("tests/image", "tests/image/test_build.py", "test_the_last_line_of_the_log_is_the_result_"),
    "make lock": RunBy("uv pip install", "tests/image/test_build.py", "test_every_package_has_a_wheel_for_every_"),
    "LOCAL_CLOUD_IMAGES=built make demo": RunBy(
        "LOCAL_CLOUD_IMAGES=built", "tests/image/test_cloud.py", "test_a_decision_comes_from_the_image"
    ),
    "pip install ./client": RunBy(
        "./client", PACKAGE, "test_a_wheel_of_the_client_has_the_page_that_the_container_serves"
    ),
    "pip install './client[cli]'": RunBy("[cli]", PACKAGE, "test_the_command_and_what_it_needs_come_with_the_extra"),
}


def pages(repository_root: Path) -> list[Path]:
    """All but those with a test of their own."""
    readmes = (repository_root / folder / "README.md" for folder in ("", "adapter", "client"))
    return [page for page in (*sorted((repository_root / "docs").glob("*.md")), *readmes) if page.name not in OWN_TEST]


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Each bash block, with the paragraph before it."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield text[: match.start()].strip().rpartition("\n\n")[2], match[1]


def commands(page: Path) -> Iterator[tuple[str, bool]]:
    """Each command of a bash block, and whether it, or the paragraph before, says that it needs an account."""
    for before, block in blocks(page):
        for line in block.replace("\\\n", " ").splitlines():
            command, _, comment = re.sub(r"\s+# ", "\0", line).partition("\0")
            yield command.strip(), MARK in comment or MARK in before


def is_decide(command: str) -> bool:
    """Whether it is the command line's, whose own tests run it: here what it names is looked up."""
    return command.startswith("decide ")


def test_each_command_is_run_by_a_test_or_needs_an_account(repository_root: Path) -> None:
    every = {command for page in pages(repository_root) for command, _ in commands(page)}
    assert set(RUN_BY) <= every, "no page has these any more"
    for page in pages(repository_root):
        for command, marked in commands(page):
            assert marked or command in RUN_BY or is_decide(command), (
                f"{page.name}: {command}: run it in a test and say which in RUN_BY, or mark it: {MARK}"
            )


def test_commands_of_the_command_line_name_what_it_has(repository_root: Path) -> None:
    @cache
    def help_of(*subcommand: str) -> str:
        told = decide(*subcommand, "--help")
        assert told.status == 0, told.err
        return told.out

    used = [command for page in pages(repository_root) for command, _ in commands(page) if is_decide(command)]
    assert used
    for command in used:
        words = shlex.split(command)[1:]
        subcommand = words[:1] if not words[0].startswith("-") else []
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert option in help_of(*subcommand), command


@pytest.mark.parametrize("page", OWN_TEST)
def test_a_page_with_a_test_of_its_own_has_it(repository_root: Path, page: str) -> None:
    assert (repository_root / "docs" / page).is_file()
    assert page.removesuffix(".md") in (repository_root / OWN_TEST[page]).read_text(encoding="utf-8")


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
