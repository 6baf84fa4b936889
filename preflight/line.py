"""One line of the report."""

from typing import NamedTuple


class Line(NamedTuple):
    """Something that a deployment needs, and what to do about it; `todo` is None when all is well."""

    what: str
    found: str
    todo: str | None = None

    def __str__(self) -> str:
        told = f"{self.what}: {self.found}"
        return f"  ok  {told}" if self.todo is None else f"TODO  {told}. {self.todo}"
