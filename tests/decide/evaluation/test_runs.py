"""Runs on the disk: whole lines, continued where they stopped, and never mixed up."""

import json
from pathlib import Path

import pytest

from decide.errors import UsageError
from decide.evaluation.errors import ModelChangedError, RunError
from decide.evaluation.run_file import RunFile
from decide.evaluation.saved_run import Labels, is_run, load
from decision_client import ModelIdentity
from tests.decide.evaluation.rows import header, row

RIGHT = (0.8, 0.1, 0.1)
MODEL = ModelIdentity.model_validate({"gguf": {"file": "m.gguf", "sha256": "b1" * 32, "bytes": 7}, "threads": 2})


def begun(path: Path, rows: int = 2) -> Path:
    with RunFile(path, header()) as run:
        run.recognise(MODEL)
        for number in range(rows):
            run.append(row(number, RIGHT))
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = begun(tmp_path / "new folder" / "a.run.jsonl")
    found = load(path)
    assert is_run(path)
    assert (found.header, found.model) == (header(), MODEL)
    assert found.rows == (row(0, RIGHT), row(1, RIGHT))
    assert not found.complete


def test_a_run_goes_on_behind_its_last_whole_line(tmp_path: Path) -> None:
    # given a process that was killed while it wrote
    path = begun(tmp_path / "a.run.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id": "d-2", "fam')
    assert len(load(path).rows) == 2
    # when
    with RunFile(path, header(started="2027-01-01T00:00:00+00:00", endpoint="http://y")) as run:
        assert list(run.done) == ["d-0", "d-1"]
        run.recognise(MODEL)
        run.append(row(2, None))
    # then
    assert path.read_bytes().startswith(whole)
    assert load(path).complete
    assert [json.loads(line).get("id") for line in path.read_text("utf-8").splitlines()] == [
        None,
        None,
        "d-0",
        "d-1",
        "d-2",
    ]


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    path = tmp_path / "a.run.jsonl"
    with RunFile(path, header()) as run:
        with pytest.raises(UsageError, match="wait for it, or --save"):
            RunFile(path, header())
        run.append(row(0, RIGHT))
    with RunFile(path, header()) as run:  # who was refused did not keep it
        assert list(run.done) == ["d-0"]


def test_a_run_of_other_labels_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = begun(tmp_path / "a.run.jsonl")
    before = path.read_bytes()
    other = Labels(name="other.jsonl", sha256="2b" * 32, decisions=3)
    with pytest.raises(RunError, match=r"is a run of labelled\.jsonl .* this is other\.jsonl .*: the labels differ"):
        RunFile(path, header(labels=other))
    assert path.read_bytes() == before


def test_a_run_is_continued_with_the_flips_it_was_begun_with(tmp_path: Path) -> None:
    path = begun(tmp_path / "a.run.jsonl")
    with pytest.raises(RunError, match="was begun without --order-flips"):
        RunFile(path, header(order_flips=True))


def test_another_model_is_refused_with_what_changed(tmp_path: Path) -> None:
    path = begun(tmp_path / "a.run.jsonl")
    assert MODEL.gguf is not None
    other = MODEL.model_copy(update={"gguf": MODEL.gguf.model_copy(update={"sha256": "c2" * 32}), "calibration": "c"})
    with (
        RunFile(path, header()) as run,
        pytest.raises(ModelChangedError, match=r"the GGUF was b1b1.* is c2c2.*calibration"),
    ):
        run.recognise(other)
    assert len(load(path).rows) == 2


def test_another_instance_of_the_same_model_is_the_same_model(tmp_path: Path) -> None:
    with RunFile(begun(tmp_path / "a.run.jsonl"), header()) as run:
        run.recognise(
            MODEL.model_copy(update={"threads": 8, "backends": ("CUDA",), "prompt_profile": "wide-options-v1"})
        )


def test_a_model_that_is_known_only_later_is_written_then(tmp_path: Path) -> None:
    path = tmp_path / "a.run.jsonl"
    with RunFile(path, header()) as run:
        run.append(row(0, None))
        run.recognise(MODEL)
        run.append(row(1, RIGHT))
    assert load(path).model == MODEL


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "d-9"}', r"line 5: is not what a run holds: family: Field required"),
        ("[]", r"line 5: is not what a run holds: the line"),
        ("what", r"line 5: is not what a run holds: the line: Invalid JSON"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = begun(tmp_path / "a.run.jsonl")
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    with pytest.raises(RunError, match=said):
        load(path)


def test_a_row_that_is_there_twice_is_told(tmp_path: Path) -> None:
    path = begun(tmp_path / "a.run.jsonl")
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])
    with pytest.raises(RunError, match=r"the row 'd-1' is there twice; two processes wrote this file"):
        load(path)


def test_a_row_that_contradicts_itself_is_refused() -> None:
    good = row(1, RIGHT)
    for wrong in (
        {"label": "nobody"},
        {"answer": None},
        {"names": ("account",)},
        {"reordered": ({"order": (1, 0), "probabilities": (0.5, 0.5)},)},
    ):
        with pytest.raises(ValueError, match="validation error"):
            type(good).model_validate(good.model_dump() | wrong)


def test_a_file_of_a_later_version_is_no_run_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "a.run.jsonl"
    path.write_text('{"decide_run": 2}\n')
    with pytest.raises(RunError, match="decide_run: Input should be 1"):
        load(path)
