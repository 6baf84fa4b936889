"""What the model that answers is called, by the contracts whose answers name one."""

from collections.abc import Mapping
from typing import Any


def model_name(identity: Mapping[str, Any]) -> str:
    """The name of the model of this identity: its file's."""
    return str(identity["gguf"]["file"]).removesuffix(".gguf")
