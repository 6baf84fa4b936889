"""What the CDK application refuses, and how it says so.

DeploymentError
├── UnknownEnvironmentError   there is no environments/<name>.toml
└── SettingsError             the file is there; every problem in it is listed
"""

from collections.abc import Sequence
from pathlib import Path


class DeploymentError(Exception):
    """A mistake of the caller, told in words; synth stops before anything is deployed."""


class UnknownEnvironmentError(DeploymentError):
    """The environment asked for has no settings file."""

    def __init__(self, name: str, folder: Path, known: Sequence[str]) -> None:
        problem = f"{folder.name}/{name}.toml does not exist" if name else "none was chosen"
        super().__init__(f"no environment: {problem}. Choose one with -c env=<name>, of: {', '.join(known)}.")


class SettingsError(DeploymentError):
    """A settings file with problems, each as `key: what is wrong` on a line of its own."""

    def __init__(self, file: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("\n".join([f"{file}: {count}", *(f"  {file}: {problem}" for problem in problems)]))
