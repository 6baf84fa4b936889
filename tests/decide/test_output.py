"""What is printed is what was said, and nothing that a terminal would obey."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from decide import output
from tests.decide.command import environment


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert output.visible("a\x1b[31mb\x00\r\n\tä\u202e") == "a\\x1b[31mb\\x00\\r\n\tä\\u202e"


def test_letters_of_every_script_are_shown_as_they_are() -> None:
    text = "l\u00a0eau, \u0645\u06cc\u200c\u062e, \U0001f469\u200d\U0001f680, \u2764\ufe0f, e\u0301, \u3042"
    assert output.visible(text) == text


def test_markup_of_others_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert output.plain("[bold]x[/bold]").plain == "[bold]x[/bold]"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_json_can_be_read_whatever_the_stream_carries(encoding: str) -> None:
    value = {"ä": "\ud800 😀"}
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    stream.write(output.as_json(value, stream))
    stream.flush()
    assert json.loads(stream.buffer.getvalue()) == value  # type: ignore[attr-defined]


@pytest.mark.parametrize(("closed", "status"), [(">&-", 4), ("2>&-", 4), ("<&-", 3)])
def test_a_stream_that_a_shell_closed_is_no_defect(closed: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "request").write_text("{}")
    file = "-" if closed.startswith("<") else "request"
    command = f'"$0" -m decide invoke --url http://127.0.0.1:9 --wait 0 {file} {closed}'
    ended = subprocess.run(
        ["bash", "-c", command, sys.executable], cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == status
