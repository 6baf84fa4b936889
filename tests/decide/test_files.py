"""Files that are not what they should be."""

from pathlib import Path

import pytest

from decide.errors import InputError
from decide.files import read_json


def test_json_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for mark in (b"", b"\xef\xbb\xbf"):
        file.write_bytes(mark + '{"ä": 1}'.encode())
        assert read_json(file) == {"ä": 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"{\n1}", "line 2, column 1: is not JSON"),
        (b"{}\n\n\xff", "line 3: is not UTF-8"),
        (b"[" * 100_000, "is not JSON"),
        (b"1" * 5000, "is not JSON"),
    ],
)
def test_what_is_wrong_is_said_with_the_place(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(content)
    with pytest.raises(InputError) as raised:
        read_json(file)
    assert str(raised.value).startswith(str(file))
    assert said in str(raised.value)


def test_a_file_that_is_not_there_and_a_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_json(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a folder"):
        read_json(tmp_path)


def test_a_path_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").touch()
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        read_json(tmp_path / "a.json" / "b.json")
