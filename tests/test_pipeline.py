"""The workflow of GitHub Actions, and the commands of docs/pipeline.md."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from decision_constructs import settings

LOCAL = "local"
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}")


@pytest.fixture(scope="module")
def workflow(repository_root: Path) -> dict[str, Any]:
    text = (repository_root / ".github" / "workflows" / "pipeline.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@pytest.fixture(scope="module")
def page(repository_root: Path) -> str:
    return (repository_root / "docs" / "pipeline.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def steps(repository_root: Path) -> Iterator[dict[str, Any]]:
    """Of the workflow and of the actions beside it."""
    for file in sorted((repository_root / ".github").rglob("*.yml")):
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        for part in [*content.get("jobs", {}).values(), content.get("runs", {})]:
            yield from part.get("steps", ())


def make_commands(lines: Iterator[str]) -> set[tuple[str, ...]]:
    """Targets and the names of their variables."""
    found = (re.match(r"make ([a-z-]+)((?: [A-Z]+=\S+)*)", re.sub(r"\$\{\{.*?\}\}", "X", line)) for line in lines)
    return {(one[1], *re.findall(r"([A-Z]+)=", one[2])) for one in found if one}


def test_every_action_is_pinned_by_commit_or_is_ours(repository_root: Path) -> None:
    used = [step["uses"] for step in steps(repository_root) if "uses" in step]
    assert used
    for action in used:
        if action.startswith("./"):
            assert (repository_root / action / "action.yml").is_file()
        else:
            assert PINNED.fullmatch(action), action


def test_a_run_may_read_and_only_what_talks_to_aws_gets_a_token_for_it(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    granted = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert granted == {
        "diff": {"contents": "read", "id-token": "write", "pull-requests": "write"},
        "deploy": {"contents": "read", "id-token": "write"},
    }


def test_no_key_is_kept_and_roles_are_variables_that_the_page_names(repository_root: Path, page: str) -> None:
    text = (repository_root / ".github" / "workflows" / "pipeline.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "access-key" not in text
    roles = set(re.findall(r"vars\.(\w+)", text))
    assert roles == set(re.findall(r"gh variable set (\w+)", page)) == {"AWS_DIFF_ROLE_ARN", "AWS_DEPLOY_ROLE_ARN"}


@pytest.mark.parametrize("job", ["diff", "deploy"])
def test_what_needs_an_account_waits_for_its_role(workflow: dict[str, Any], job: str) -> None:
    role = f"vars.AWS_{job.upper()}_ROLE_ARN"
    [credentials] = [
        step for step in workflow["jobs"][job]["steps"] if "configure-aws-credentials" in step.get("uses", "")
    ]
    assert role in workflow["jobs"][job]["if"]
    assert credentials["with"]["role-to-assume"] == f"${{{{ {role} }}}}"


def test_every_environment_is_synthesized_and_all_but_the_laptop_deployed(
    repository_root: Path, workflow: dict[str, Any]
) -> None:
    names = settings.environment_names(repository_root / "environments")
    matrix = {
        name: job["strategy"]["matrix"]["environment"] for name, job in workflow["jobs"].items() if "strategy" in job
    }
    assert sorted(matrix["synth"]) == names
    assert sorted(matrix["diff"]) == sorted(matrix["deploy"]) == [name for name in names if name != LOCAL]


def test_nothing_is_deployed_that_was_not_tested_and_one_environment_at_a_time(workflow: dict[str, Any]) -> None:
    deploy = workflow["jobs"]["deploy"]
    assert set(deploy["needs"]) == {"test", "synth"}
    assert deploy["strategy"]["max-parallel"] == 1
    assert deploy["strategy"]["matrix"]["environment"][-1] == "prod"
    assert deploy["environment"] == "${{ matrix.environment }}"  # whose reviewers GitHub asks, and whose role it is


def test_workflow_and_page_run_targets_that_the_makefile_has(repository_root: Path, page: str) -> None:
    makefile = (repository_root / "Makefile").read_text(encoding="utf-8")
    buildspecs = [yaml.safe_load(block) for block in blocks(page, "yaml")]
    in_workflow = make_commands(step["run"] for step in steps(repository_root) if "run" in step)
    in_page = make_commands(line for spec in buildspecs for line in spec["phases"]["build"]["commands"])
    assert {command[0] for command in in_workflow} == {command[0] for command in in_page}
    for target, *variables in in_workflow | in_page:
        assert re.search(rf"^{target}: ", makefile, re.MULTILINE), target
        for variable in variables:
            assert f"$({variable})" in makefile, variable


def test_the_policies_of_the_page_are_json_and_allow_no_wildcard_action(page: str) -> None:
    policies = [json.loads(block) for block in blocks(page, "json")]
    assert len(policies) == 2
    for policy in policies:
        [statement] = policy["Statement"]
        assert statement["Action"].startswith("sts:AssumeRole")
        assert "*" not in statement["Action"]
