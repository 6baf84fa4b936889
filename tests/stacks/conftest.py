"""Templates as `cdk synth` writes them: by running app.py, with no account and no credentials."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aws_cdk.assertions import Template

Synthesize = Callable[[str], Path]
ENVIRONMENTS = ("local", "dev", "prod", "guarded", "lodger", "packed")
"""The project's, and those beside this file, which use every setting of security."""

BASES = "".join(
    f"""
[bases."sha256:{digit * 64}"]
image = "llama-cpp:of-somebody"
accelerator = "{accelerator}"
llama_cpp_python = "0.3.35"
"""
    for digit, accelerator in (("0", "arm64"), ("1", "cpu"))
)
"""What bases.toml would say about the images of the environments beside this file."""


@pytest.fixture(scope="session")
def app(repository_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The application with the environments and base images of the project and of the tests."""
    folder = tmp_path_factory.mktemp("app")
    shutil.copy(repository_root / "app.py", folder)
    for part in ("adapter", "constructs", "image_copy", "model_build", "stacks"):
        shutil.copytree(repository_root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "adapter" / "bases.toml").open("a") as bases:
        bases.write(BASES)
    for environments in (repository_root / "environments", Path(__file__).parent / "environments"):
        shutil.copytree(environments, folder / "environments", dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def synthesize(app: Path, repository_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Synthesize:
    """Give the cloud assembly of an environment."""

    @cache
    def run(environment: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
        out = tmp_path_factory.mktemp(f"cdk-{environment}")
        context = json.loads((repository_root / "cdk.json").read_text())["context"]
        process = subprocess.run(
            [sys.executable, "app.py"],
            cwd=app,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(out),
                # unpacked once, not for each synthesis
                "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(Path.home() / ".cache" / "aws" / "jsii" / "package-cache"),
                "PYTHONPATH": os.pathsep.join(map(str, (app, app / "constructs"))),
                "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
                "CDK_OUTDIR": str(out),
                "CDK_CONTEXT_JSON": json.dumps({**context, "env": environment}),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return out, process

    def assembly(environment: str) -> Path:
        out, process = run(environment)
        assert process.returncode == 0, process.stdout + process.stderr
        return out

    return assembly


@pytest.fixture(scope="session")
def template(synthesize: Synthesize) -> Callable[[str, str], Template]:
    """Give one stack's template: `template("dev", "Artifacts")`."""

    @cache
    def read(environment: str, stack: str) -> Template:
        content: dict[str, Any] = json.loads((synthesize(environment) / f"{stack}.template.json").read_text())
        return Template.from_json(content)

    return read
