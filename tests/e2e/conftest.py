"""One local cloud for the folder, and the environment `local` deployed to it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud import Cloud, deployment, start


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A bootstrapped cloud with the small model in its bucket."""
    with start(tmp_path_factory.mktemp("cloud"), detached=False) as running:
        deployment.put_model(running)
        deployment.bootstrap(running)
        yield running


@pytest.fixture(scope="session")
def endpoints(cloud: Cloud) -> dict[str, str]:
    """Endpoint names by contract, deployed by `cdk deploy`."""
    deployment.deploy(cloud)
    return deployment.endpoint_names(cloud)


@pytest.fixture
def other_app(tmp_path: Path, repository_root: Path) -> Path:
    """A copy of the application whose environments a test may change."""
    folder = tmp_path / "app"
    (folder / "environments").mkdir(parents=True)
    for name in ("app.py", "cdk.json", "environments/local.toml"):
        (folder / name).write_bytes((repository_root / name).read_bytes())
    return folder


@pytest.fixture
def other_checkout(other_app: Path, repository_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Such a copy with all that is deployed from: a test may change the sources of an image, too."""
    for folder in ("stacks", "constructs", "adapter", "model_build"):
        shutil.copytree(repository_root / folder, other_app / folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(other_app / "constructs"))
    return other_app
