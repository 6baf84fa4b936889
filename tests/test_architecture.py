"""Who may import whom, read from the syntax trees, and what must never be a package."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FAMILIES = {
    "stacks": {"stacks", "decision_constructs"},
    "constructs/decision_constructs": {"decision_constructs"},
    "adapter/decision_adapter": {"decision_adapter"},
    "adapter/proof": {"proof", "decision_adapter"},
    "model_build": {"model_build"},
    "image_copy": {"image_copy"},
    "client/decision_client": {"decision_client"},
    "client/decide": {"decide", "decision_client"},
    "local_cloud": {"local_cloud"},
    "benchmarks": {"benchmarks", "decision_adapter"},
    "preflight": {"preflight", "decision_constructs"},
}
OURS = set().union(*FAMILIES.values())


def modules(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    """Each Python file below, with the full names it imports."""
    for file in sorted(folder.rglob("*.py")):
        names: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        yield file, names


def tops(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("folder", FAMILIES)
def test_the_parts_never_import_each_other(repository_root: Path, folder: str) -> None:
    found = list(modules(repository_root / folder))
    assert found
    for file, names in found:
        assert tops(names) & OURS <= FAMILIES[folder], file


def test_only_llama_touches_the_library(repository_root: Path) -> None:
    adapter = repository_root / "adapter" / "decision_adapter"
    users = {
        file.relative_to(adapter).parts[0] for file, names in modules(adapter) if tops(names) & {"llama_cpp", "ctypes"}
    }
    assert users == {"llama"}


def test_only_the_routes_touch_flask(repository_root: Path) -> None:
    adapter = repository_root / "adapter" / "decision_adapter"
    users = {file.name for file, names in modules(adapter) if tops(names) & {"flask", "werkzeug"}}
    assert users == {"app.py"}


def test_only_the_plug_in_touches_ministack(repository_root: Path) -> None:
    cloud = repository_root / "local_cloud"
    users = {file.relative_to(cloud).parts[0] for file, names in modules(cloud) if "ministack" in tops(names)}
    assert users == {"ministack_plugin.py"}


def test_the_constructs_folder_is_a_source_root_and_never_a_package(repository_root: Path) -> None:
    import constructs  # noqa: PLC0415  # what is under test is where this comes from

    assert not (repository_root / "constructs" / "__init__.py").exists()
    assert "site-packages" in str(constructs.__file__)
