"""An output that can always be gone on from."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from decide.batch.answer_file import AnswerFile, Totals
from decide.errors import InputError, UsageError


def answer(number: int, digest: str = "x", **fields: Any) -> dict[str, Any]:
    return {"line": number, "input": digest, **(fields or {"result": {"number": number}})}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_what_is_appended_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with AnswerFile(path) as file:
        file.append([answer(2), answer(1, status=503, error="busy")])
        assert len(lines(path)) == 2
    with AnswerFile(path) as file:
        assert file.has(2, "x")
        assert not file.has(2, "another line stands there now")
        assert not file.has(1, "x"), "an error is no answer"


def test_in_the_end_it_is_in_order_with_a_line_for_each_record(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with AnswerFile(path) as file:
        file.append([answer(3), answer(1, status=400, error="bad"), answer(2, "old"), answer(9)])
        file.append([answer(1), answer(2), answer(3, status=503, error="later"), answer(4, status=400, error="bad")])
        assert file.finish(dict.fromkeys((1, 2, 3, 4), "x")) == Totals(3, 1, 4, "bad")
    assert lines(path) == [answer(1), answer(2), answer(3), answer(4, status=400, error="bad")]
    assert [file.name for file in tmp_path.iterdir()] == ["out.jsonl"]


@pytest.mark.parametrize("torn", [b"{", b'{"line":2,"inp', b'{"line":2,"input":"x","result":{}}'])
def test_what_a_crash_left_of_a_line_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(json.dumps(answer(1)).encode() + b"\n" + torn)
    with AnswerFile(path) as file:
        assert (file.has(1, "x"), file.has(2, "x")) == (True, False)
        file.append([answer(2)])
    assert lines(path) == [answer(1), answer(2)]


@pytest.mark.parametrize(
    "content", ["hello\n", "hello", '{"id": 1}', "[]\n", "{}\n", '{"line": "x", "input": 1}\n', "\n"]
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(InputError, match="line 1: is no answer"):
        AnswerFile(path)
    assert path.read_text() == content


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with AnswerFile(path), pytest.raises(UsageError, match="another `decide batch`"):
        AnswerFile(path)
    with AnswerFile(path):
        pass


@pytest.mark.parametrize("place", [".", "no/folder", "/dev/full"])
def test_a_place_where_nothing_can_be_written_is_told(tmp_path: Path, place: str) -> None:
    with pytest.raises(InputError, match=r"cannot be written|is no file"):
        AnswerFile(tmp_path / place)


def test_a_full_disk_is_told_and_costs_nothing_of_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with AnswerFile(path) as file:
        file.append([answer(1)])
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 5, hard))
        try:
            with pytest.raises(InputError, match="cannot be written: File too large; what was answered before is kept"):
                file.append([answer(2)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with AnswerFile(path) as file:
        assert (file.has(1, "x"), file.has(2, "x")) == (True, False)
    assert lines(path) == [answer(1)]
