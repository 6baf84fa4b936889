"""A buildspec, version 0.2: the part of it that the local cloud runs.

Read and then ignored, since they change nothing here: artifacts, cache, reports, runtime-versions, run-as, proxy.
"""

from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from local_cloud.errors import BuildspecError

PHASES = ("install", "pre_build", "build", "post_build")


class Phase(BaseModel):
    """The commands of one phase; those of `finally` run whatever became of the others."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    commands: list[str] = []
    finally_commands: list[str] = Field([], alias="finally")
    on_failure: Literal["ABORT", "CONTINUE"] | None = Field(None, alias="on-failure")


class Environment(BaseModel):
    """Variables that a buildspec sets and exports."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    shell: Literal["bash", "/bin/sh"] = "bash"
    variables: dict[str, str] = {}
    exported_variables: list[str] = Field([], alias="exported-variables")
    parameter_store: dict[str, str] = Field({}, alias="parameter-store")

    @field_validator("variables", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """Unquoted numbers are text to a shell."""
        return {name: str(text) for name, text in value.items()} if isinstance(value, dict) else value


class Buildspec(BaseModel):
    """A whole buildspec."""

    model_config = ConfigDict(extra="ignore")

    version: Literal["0.2"]
    env: Environment = Field(default_factory=Environment.model_construct)
    phases: dict[Literal["install", "pre_build", "build", "post_build"], Phase]

    @field_validator("version", mode="before")
    @classmethod
    def _version_as_text(cls, value: Any) -> Any:
        """YAML reads 0.2 as a number."""
        return str(value) if isinstance(value, float) else value


def parse_buildspec(text: str) -> Buildspec:
    """The buildspec in a YAML or JSON document.

    Raises:
        BuildspecError: it is neither, or a key is missing, unknown or of the wrong type; all of them are named.
    """
    try:
        return Buildspec.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise BuildspecError(f"YAML_FILE_ERROR: {error}") from error
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'document'}: {e['msg']}" for e in error.errors())
        raise BuildspecError(f"YAML_FILE_ERROR: {problems}") from error
