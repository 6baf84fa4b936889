"""The decision image, built, and containers of it."""

import os
import shutil
import signal
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local_cloud import image
from local_cloud.buildah import cache_directory
from local_cloud.built_images import BuiltImage
from local_cloud.container import free_port
from local_cloud.image import Built
from local_cloud.stand_in_base import StandInBase
from tests.adapter.conftest import CHATML_WITH_THINKING, Container, start_container

__all__ = ["start_container"]


class ImageContainer(Container):
    """A container of a built image, which has SageMaker's own port and folder and no setting beside those given."""

    def __init__(self, built: BuiltImage, model: Path, log_file: Path, **environment: str) -> None:
        self.port = free_port()
        self._log_file = log_file
        # The network is this machine's, so the port cannot be 8080 for all.
        settings = {"SEMIF_HOST": "127.0.0.1", "SEMIF_PORT": str(self.port), "SEMIF_THREADS": "1", **environment}
        program = built.program({"PATH": os.environ["PATH"], "OMP_WAIT_POLICY": "passive"}, settings, model)
        with log_file.open("wb") as log:
            self.process = subprocess.Popen(
                program.command,
                cwd=program.directory,
                env={**program.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> int:
        """End it as SageMaker does; the exit code."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        return self.process.wait(timeout=40)


@pytest.fixture(scope="session")
def built() -> Built:
    """The image as the buildspec makes it."""
    return image.build()


@pytest.fixture(scope="session")
def libraries(built: Built, repository_root: Path) -> Path:
    """The very libraries that the base of the image has, on this machine."""
    table = tomllib.loads((repository_root / "adapter" / "bases.toml").read_text())
    version = str(built.result["llama_cpp_python"])
    stand_in = StandInBase(built.image.buildah, cache_directory())
    return stand_in.libraries(version, table["bindings"][version]["sdist_sha256"])


@pytest.fixture(scope="session")
def derive(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], BuiltImage]:
    """Make an image that differs in one file."""

    def make(file: Path, target: str) -> BuiltImage:
        context = tmp_path_factory.mktemp("derived") / "context"
        context.mkdir()
        shutil.copy(file, context / "file")
        dockerfile = f"FROM {built.image.image_id}\nCOPY file {target}\n"
        (context / "Dockerfile").write_text(dockerfile)
        image_id = built.image.buildah.build(context, ["--quiet"], {})
        return replace(built.image, image_id=image_id)

    return make


@pytest.fixture(scope="session")
def model(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model archive as SageMaker extracts it."""
    folder = tmp_path_factory.mktemp("model")
    folder.chmod(0o755)
    shutil.copy(smollm2_gguf, folder)
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "chat_template.jinja").write_text(CHATML_WITH_THINKING)
    return folder


@pytest.fixture(scope="session")
def start_image(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ImageContainer]]:
    """Start containers of the image, or of one given; all are stopped at the end."""
    logs, started = tmp_path_factory.mktemp("logs"), list[ImageContainer]()

    def start(model: Path, of: BuiltImage = built.image, **environment: str) -> ImageContainer:
        started.append(ImageContainer(of, model, logs / f"{len(started)}.log", **environment))
        return started[-1]

    yield start
    for container in started:
        container.stop()


@pytest.fixture(scope="session")
def container(start_image: Callable[..., ImageContainer], model: Path) -> Any:
    """A container of the image with SmolLM2, ready; shared by the tests that only ask."""
    return start_image(model).wait_until_ready()
