"""What a command prints: results on stdout, everything else on stderr, so that a pipe carries results alone.

Text of others (options, models, files) goes through `plain`: no markup is read in it, and nothing in it moves the
cursor.
"""

import json
import os
import sys
import unicodedata
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

results = Console(highlight=False, markup=False)
"""Tables and texts that were asked for."""
if not results.is_terminal and not os.environ.get("COLUMNS"):
    results.width = 10_000  # a pipe or a file has no edge: a hash or a sentence stays on its line
messages = Console(stderr=True, highlight=False, markup=False)
"""Progress, warnings and errors."""

_KEPT = "\n\t\u00ad\u200c\u200d"
"""Beside line feed and tab: a soft hyphen, and what joins letters and emoji or keeps them apart."""


def prepare() -> None:
    """Make both streams carry any text: what their encoding lacks is written as an escape, which JSON understands."""
    # where a shell closed one, what is written goes nowhere
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115  # for as long as the process lives
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # both are text files here


def give_up_results() -> None:
    """Let what is left for stdout go where it cannot fail: Python would try once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def plain(text: str, style: str = "") -> Text:
    """``text`` of somebody else's as rich prints it: without markup and control characters."""
    return Text(visible(text), style)


def visible(text: str) -> str:
    """``text`` with what a terminal would obey as escapes: control characters but line feed and tab, and the marks
    that turn the direction of writing.
    """
    return "".join(_escaped(character) if _is_obeyed(character) else character for character in text)


def write(text: str) -> None:
    """Write ``text`` of somebody else's on stdout at once, as it is but for control characters."""
    sys.stdout.write(visible(text))
    sys.stdout.flush()


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print ``value`` on stdout as JSON; with ``indent`` None on a single line."""
    print(as_json(value, sys.stdout, indent), flush=True)


def as_json(value: object, stream: TextIO, indent: int | None = None) -> str:
    """``value`` as JSON that ``stream`` can carry."""
    utf8 = (stream.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not utf8, indent=indent)


def warn(sentence: str) -> None:
    """Say on stderr what is worth knowing."""
    messages.print(plain(f"note: {sentence}", "yellow"), soft_wrap=True)


def fail(sentence: str) -> None:
    """Say on stderr what ended the command."""
    messages.print(Text.assemble(("error: ", "bold red"), visible(sentence)), soft_wrap=True)


def _is_obeyed(character: str) -> bool:
    return character not in _KEPT and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
