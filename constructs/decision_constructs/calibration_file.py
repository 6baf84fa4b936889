"""`calibration.json`, checked where it is named: an endpoint that finds a bad one in its archive does not start."""

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from decision_constructs.build_project import REPOSITORY_ROOT

MAX_CHARACTERS = 3000
"""Of the file without spaces: it travels in an environment variable of the build, whose room is bounded."""

_Temperature = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Calibration(BaseModel):
    """What the adapter reads."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    temperature: _Temperature
    by_option_count: dict[Annotated[int, Field(ge=2, le=255)], _Temperature] = {}
    by_type: dict[Literal["choice", "noul", "score"], _Temperature] = {}
    fitted_on: str | dict[str, object] | None = None


def text(path: str, root: Path = REPOSITORY_ROOT) -> str:
    """The calibration in ``path`` below ``root``, as one line of JSON.

    Raises:
        ValueError: it cannot be read, or is none; says what is wrong.
    """
    try:
        content = (root / path).read_bytes()
        _Calibration.model_validate_json(content)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}; the path counts from the project's top folder") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise ValueError(f"is not a calibration: {field}: {first['msg']}") from error
    line = json.dumps(json.loads(content), separators=(",", ":"))
    if len(line) > MAX_CHARACTERS:
        raise ValueError(f"has {len(line)} characters, at most {MAX_CHARACTERS}; shorten fitted_on, which nobody reads")
    return line
