"""The templates of the project's environments are those that were read and checked in.

`make snapshots` renews them; what it changes is to be read like any other change.
"""

import difflib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from decision_constructs import settings
from tests.stacks import snapshot

FOLDER = Path(__file__).parent / "snapshots"
RENEW = "RENEW_SNAPSHOTS"
NAMES = settings.environment_names(Path(__file__).parents[2] / "environments")
"""Of the project: one that joins them gets its snapshots by the same command."""


@pytest.mark.parametrize("stack", ["Artifacts", "Endpoints"])
@pytest.mark.parametrize("environment", NAMES)
def test_a_template_is_the_one_that_was_checked_in(
    synthesize: Callable[[str], Path], repository_root: Path, environment: str, stack: str
) -> None:
    template = json.loads((synthesize(environment) / f"{stack}.template.json").read_text(encoding="utf-8"))
    chosen = settings.load(environment, repository_root / "environments")
    now = snapshot.page(template, snapshot.hashes(chosen.model_dump_json()))
    file = FOLDER / f"{environment}-{stack.lower()}.yaml"

    if os.environ.get(RENEW):
        file.write_text(now, encoding="utf-8")

    then = file.read_text(encoding="utf-8") if file.is_file() else ""
    changes = difflib.unified_diff(then.splitlines(), now.splitlines(), file.name, "this checkout", lineterm="", n=5)
    assert then == now, "\n".join(["the template is another; if it is meant to be: make snapshots", *changes])


def test_no_snapshot_is_of_an_environment_that_is_gone() -> None:
    expected = {f"{name}-{stack}.yaml" for name in NAMES for stack in ("artifacts", "endpoints")}
    assert {file.name for file in FOLDER.iterdir()} <= expected
