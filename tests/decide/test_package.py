"""What is installed, and what the command says where a part of it is not."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from decide.evaluation import extra
from tests.decide.command import environment


def pyproject(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))


def test_every_package_is_installed_by_both_projects(repository_root: Path) -> None:
    client = repository_root / "client"
    folders = (Path(folder) for folder, _, files in os.walk(client, followlinks=True) if "__init__.py" in files)
    ours = {".".join(folder.relative_to(client).parts) for folder in folders}
    assert set(pyproject(client)["tool"]["setuptools"]["packages"]) == ours
    assert ours < set(pyproject(repository_root)["tool"]["setuptools"]["packages"])


def test_the_command_and_what_it_needs_come_with_the_extra(repository_root: Path) -> None:
    project = pyproject(repository_root / "client")["project"]
    assert {one.partition(">=")[0] for one in project["optional-dependencies"]["cli"]} == {"rich", "typer"}
    assert project["scripts"] == pyproject(repository_root)["project"]["scripts"] == {"decide": "decide.__main__:main"}


def test_a_wheel_of_the_client_has_the_page_that_the_container_serves(repository_root: Path, tmp_path: Path) -> None:
    # given the two folders as they are checked out, a link in the one
    for folder in ("client", "adapter/decision_adapter/playground"):
        nothing_built = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
        shutil.copytree(repository_root / folder, tmp_path / folder, symlinks=True, ignore=nothing_built)
    page = tmp_path / "client" / "decide" / "playground_page"
    assert page.is_symlink()
    # when
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, "./client"]
    subprocess.run(command, cwd=tmp_path, check=True)
    # then
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if "playground_page" in name}
    source = repository_root / "adapter" / "decision_adapter" / "playground"
    files = [file for file in source.iterdir() if file.is_file()]
    assert packed == {f"decide/playground_page/{file.name}": file.read_bytes() for file in files}


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
