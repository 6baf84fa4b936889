"""The settings of a copy of the application, for a test to change."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w


@contextmanager
def settings_of(app: Path) -> Iterator[dict[str, Any]]:
    """The tables of the environment `local`; what the body made of them is written back."""
    file = app / "environments" / "local.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    yield tables
    file.write_text(tomli_w.dumps(tables), encoding="utf-8")
