"""An endpoint to ask: the adapter as a process, with a tiny model."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.adapter.conftest import start_container
from tests.tiny_models import write_tiny_model

__all__ = ["start_container"]


@pytest.fixture(scope="session")
def tiny_container(start_container: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A container that decodes a hundred questions in a second."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_model(folder / "tiny.gguf", "attention")
    return start_container(folder).wait_until_ready()


@pytest.fixture(scope="session")
def url(tiny_container: Any) -> str:
    return f"http://127.0.0.1:{tiny_container.port}"
