"""What is installed, and what the command says where a part of it is not."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from decide.evaluation import extra
from tests.decide.command import environment


def pyproject(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))


def test_every_package_is_installed_by_both_projects(repository_root: Path) -> None:
    client = repository_root / "client"
    ours = {".".join(file.parent.relative_to(client).parts) for file in client.rglob("__init__.py")}
    assert set(pyproject(client)["tool"]["setuptools"]["packages"]) == ours
    assert ours < set(pyproject(repository_root)["tool"]["setuptools"]["packages"])


def test_the_command_and_what_it_needs_come_with_the_extra(repository_root: Path) -> None:
    project = pyproject(repository_root / "client")["project"]
    assert {one.partition(">=")[0] for one in project["optional-dependencies"]["cli"]} == {"rich", "typer"}
    assert project["scripts"] == pyproject(repository_root)["project"]["scripts"] == {"decide": "decide.__main__:main"}


def test_what_evaluation_needs_is_an_extra_of_its_own(repository_root: Path) -> None:
    extras = pyproject(repository_root / "client")["project"]["optional-dependencies"]
    assert {one.partition(">=")[0] for one in extras["evaluate"]} == set(extra.PACKAGES)


def test_the_command_line_starts_without_what_evaluation_needs_and_says_how_to_install_it(tmp_path: Path) -> None:
    # given a Python that finds no numpy
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('no numpy', name='numpy')")
    found = environment()
    path = f"{tmp_path}:{found['PYTHONPATH']}"
    # when
    helped, ended = (
        subprocess.run(
            [sys.executable, "-m", "decide", *arguments],
            env=found | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        for arguments in (["--help"], ["evaluate", "labelled.jsonl"])
    )
    # then
    assert helped.returncode == 0, helped.stderr
    assert ended.returncode == 2
    assert ended.stderr == "error: this command needs numpy: pip install './client[cli,evaluate]'\n"


def test_without_the_extra_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    # given a Python that finds neither typer nor rich
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no typer', name='typer')")
    found = environment()
    path = f"{tmp_path}:{found['PYTHONPATH']}"
    # when
    ended = subprocess.run(
        [sys.executable, "-m", "decide"], env=found | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    # then
    assert ended.returncode == 1
    assert ended.stderr == "error: the command line needs typer: pip install './client[cli]'\n"
