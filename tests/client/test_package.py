"""What the package exports, and what it needs: it is installed alone."""

import ast
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import decision_client
from decision_client import errors

DEPENDENCIES = {"boto3", "pydantic"}
BROUGHT_BY_THEM = {"botocore", "urllib3", "pydantic_core"}
FOR_TYPES_ONLY = {"mypy_boto3_sagemaker_runtime"}


def test_the_public_names_are_the_exported_ones() -> None:
    public = {
        name
        for name, value in vars(decision_client).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public == set(decision_client.__all__)


def test_every_error_is_exported() -> None:
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert defined <= set(decision_client.__all__)


def test_boto3_and_pydantic_are_all_it_depends_on(repository_root: Path) -> None:
    project = tomllib.loads((repository_root / "client" / "pyproject.toml").read_text("utf-8"))["project"]
    assert {requirement.partition(">=")[0] for requirement in project["dependencies"]} == DEPENDENCIES


def test_nothing_else_is_imported(repository_root: Path) -> None:
    imported: set[str] = set()
    for file in (repository_root / "client" / "decision_client").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
    allowed = DEPENDENCIES | BROUGHT_BY_THEM | FOR_TYPES_ONLY | {"decision_client"}
    assert imported - set(sys.stdlib_module_names) <= allowed
