"""What is run for an image, as a process of this machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A command line, the folder it starts in, and all of its variables."""

    command: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]
