"""Calibration: temperatures fitted on labelled decisions, and where they are found."""

import hashlib
import json
import math
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from decision_adapter.decider_config import DECIDER_CONFIG, DeciderConfig, Temperature
from decision_adapter.decision import MAX_OPTIONS, MIN_OPTIONS, DecisionType
from decision_adapter.errors import CalibrationError

CALIBRATION = "calibration.json"

OptionCount = Annotated[int, Field(ge=MIN_OPTIONS, le=MAX_OPTIONS)]


class Calibration(BaseModel):
    """What ``calibration.json`` holds: the temperatures that the options' logits are divided by."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    """Named in every answer."""
    temperature: Temperature
    """Where nothing more specific is given."""
    by_option_count: dict[OptionCount, Temperature] = {}
    by_type: dict[DecisionType, Temperature] = {}
    fitted_on: str | dict[str, object] | None = None
    """Which labelled decisions it was fitted on; for people, not read here."""

    def of(self, kind: DecisionType, option_count: int) -> float:
        """The temperature of a decision: its type's, else its option count's, else the overall one.

        The type comes first so that a count's temperature, fitted on choices, does not reach a yes-or-no question.
        """
        return self.by_type.get(kind, self.by_option_count.get(option_count, self.temperature))


def find(model_dir: Path, path: Path | None) -> Calibration | None:
    """The calibration in ``path``, else in ``calibration.json`` at the root of ``model_dir``; None without either.

    Raises:
        CalibrationError: it cannot be read or breaks the schema.
    """
    file = path or model_dir / CALIBRATION
    if path is None and not file.is_file():
        return None
    try:
        return Calibration.model_validate_json(file.read_bytes())
    except OSError as error:
        raise CalibrationError(f"{file} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(step) for step in first["loc"]) or "the file"
        got = f", got {json.dumps(first['input'])[:40]}" if first["type"] not in ("json_invalid", "missing") else ""
        raise CalibrationError(f"{file} is not a calibration: {field}: {first['msg']}{got}") from error


def of_decider(config: DeciderConfig) -> Calibration | None:
    """The temperatures of a ``decider_config.json``, one a number of options worked out; None when it has none."""
    given = config.model_dump(mode="json", include={"temperature", "temperature_by_type", "temperature_by_options"})
    if given == DeciderConfig().model_dump(mode="json", include=set(given)):
        return None
    line = config.temperature_by_options
    counts = range(MIN_OPTIONS, MAX_OPTIONS + 1) if line else ()
    return Calibration(
        id=f"{DECIDER_CONFIG}:{hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()[:12]}",
        temperature=config.temperature,
        by_type=config.temperature_by_type,
        by_option_count={count: max(line.min, line.a + line.b * math.log(count)) for count in counts if line},
    )
