"""What every test may use."""

import hashlib
from pathlib import Path

import pytest

from local_cloud.demo_model import SMOLLM2_SHA256, smollm2_path

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def repository_root() -> Path:
    """The top folder of this checkout."""
    return ROOT


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """SmolLM2-135M-Instruct, Q4_1: a small real model with a ChatML template."""
    path = smollm2_path()
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == SMOLLM2_SHA256
    return path
