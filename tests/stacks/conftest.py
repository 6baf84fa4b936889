"""Templates as `cdk synth` writes them: by running app.py, with no account and no credentials."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aws_cdk.assertions import Template

Synthesize = Callable[[str], Path]


@pytest.fixture(scope="session")
def synthesize(repository_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Synthesize:
    """Give the cloud assembly of an environment of the project."""

    @cache
    def run(environment: str) -> Path:
        out = tmp_path_factory.mktemp(f"cdk-{environment}")
        context = json.loads((repository_root / "cdk.json").read_text())["context"]
        process = subprocess.run(
            [sys.executable, "app.py"],
            cwd=repository_root,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),  # whoever tests another tree's packages says so there
                "HOME": str(out),
                "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
                "CDK_OUTDIR": str(out),
                "CDK_CONTEXT_JSON": json.dumps({**context, "env": environment}),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return out

    return run


@pytest.fixture(scope="session")
def template(synthesize: Synthesize) -> Callable[[str, str], Template]:
    """Give one stack's template: `template("dev", "Artifacts")`."""

    @cache
    def read(environment: str, stack: str) -> Template:
        content: dict[str, Any] = json.loads((synthesize(environment) / f"{stack}.template.json").read_text())
        return Template.from_json(content)

    return read
