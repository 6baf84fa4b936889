"""Long steps that say what they do and how long it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

_LOG_COLUMNS = 110

console = Console(highlight=False)
if not console.is_terminal:
    console.width = _LOG_COLUMNS


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say `what` while the block runs, and the seconds it took when it has ended well."""
    started = time.monotonic()
    if not console.is_terminal:
        console.print(f"→ {what}")
    with console.status(what):
        yield
    seconds = f"{time.monotonic() - started:.1f} s"
    console.print(f"[green]✓[/green] {what} [dim]({seconds})[/dim]" if console.is_terminal else f"  {seconds}")
