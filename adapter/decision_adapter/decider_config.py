"""``decider_config.json``: what a decider model says about its prompt layout and its temperatures."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from decision_adapter.decision import DecisionType
from decision_adapter.errors import ArtifactError

DECIDER_CONFIG = "decider_config.json"

Finite = Annotated[float, Field(allow_inf_nan=False)]
Temperature = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class TemperatureLine(BaseModel):
    """The temperature of n options: ``max(min, a + b ln n)``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    a: Finite
    b: Finite
    min: Temperature = 0.05


class DeciderConfig(BaseModel):
    """The fields that are read here; the file may hold more."""

    model_config = ConfigDict(frozen=True)

    layout: Literal["plain", "chat"] | None = None
    chat_template: bool | None = None
    """The older way to say that the layout is ``chat``."""
    temperature: Temperature = 1.0
    temperature_by_type: dict[DecisionType, Temperature] = {}
    temperature_by_options: TemperatureLine | None = None

    @property
    def profile(self) -> str:
        """The name of the prompt profile."""
        return f"decider-{self.layout or ('chat' if self.chat_template else 'plain')}"

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.layout == "plain" and self.chat_template:
            raise ValueError("layout is plain and chat_template true; one of them is wrong")
        if self.temperature_by_type and self.temperature_by_options:
            raise ValueError("there are temperature_by_type and temperature_by_options; keep one of them")
        return self


def read(model_dir: Path) -> DeciderConfig | None:
    """The configuration at the root of ``model_dir``; None when there is none.

    Raises:
        ArtifactError: it is not what it should be.
    """
    path = model_dir / DECIDER_CONFIG
    if not path.is_file():
        return None
    try:
        return DeciderConfig.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(step) for step in first["loc"]) or "the file"
        raise ArtifactError(f"{path} cannot be used: {field}: {first['msg']}") from error
