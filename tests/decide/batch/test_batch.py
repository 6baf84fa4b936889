"""`decide batch`, as a process: against the real adapter, and against an endpoint that holds its answers."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.decide.command import PATIENCE_SECONDS, decide, environment
from tests.decide.decision_server import HELD, decision_server

OPTIONS = [{"id": "a", "description": "A."}, {"id": "b", "description": "B."}]
OPENAI = {"model": "m", "input": "s", "questions": [{"type": "predicate", "instructions": "It is."}]}


def decision(number: int, state: str = "", **fields: Any) -> dict[str, Any]:
    return {"id": f"d{number}", "state": state or f"state {number}", "question": "q", "options": OPTIONS, **fields}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Input and output."""
    return tmp_path / "in.jsonl", tmp_path / "out.jsonl"


def write(path: Path, asked: Sequence[object]) -> None:
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in asked))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_line_is_answered_in_its_place(url: str, files: tuple[Path, Path]) -> None:
    # given decisions over one state, a bad line, a blank one, one that the endpoint refuses, another contract
    asked = [decision(0, "same", label="a"), decision(1, "same"), "{", "", decision(2, options=OPTIONS[:1]), OPENAI]
    write(files[0], asked)
    # when
    told = decide("batch", str(files[0]), "-o", str(files[1]), "--url", url, "--json")
    # then
    assert told.status == 1, told.err
    assert {**told.json, "seconds": 0} == {
        "answered": 3,
        "answered_before": 0,
        "failed": 2,
        "seconds": 0,
        "output": str(files[1]),
    }
    first, second, bad, refused, other = lines(files[1])
    assert [one["line"] for one in lines(files[1])] == [1, 2, 3, 5, 6]
    assert (first["label"], first["result"]["id"], second["result"]["id"]) == ("a", "d0", "d1")
    assert first["result"]["timing"]["batch_size"] == 2
    assert "is not JSON" in bad["error"]
    assert (refused["status"], refused["error"].startswith("decision.options: ")) == (400, True)
    assert 0 < other["answers"][0]["probability"] < 1


def test_what_is_answered_is_not_asked_again(files: tuple[Path, Path]) -> None:
    with decision_server() as server:
        write(files[0], [decision(0), "{", decision(2)])
        first = decide("batch", str(files[0]), "-o", str(files[1]), "--url", server.url)
        assert "note: the first without an answer is line 2: " in first.err
        assert (first.status, first.out) == (1, f"2 answered, 1 failed, in {first.out.split()[5]} s: {files[1]}\n")
        # when a line is mended, one is changed, and one is added
        write(files[0], [decision(0), decision(1), decision(22), decision(3)])
        again = decide("batch", str(files[0]), "-o", str(files[1]), "--url", server.url)
    assert (again.status, "4 answered, 1 of them before, 0 failed" in again.out) == (0, True), again.err
    assert sorted(name for request in server.asked for name in request) == ["d0", "d1", "d2", "d22", "d3"]
    assert [one["result"]["id"] for one in lines(files[1])] == ["d0", "d1", "d22", "d3"]


def test_ctrl_c_keeps_what_is_answered_and_what_is_still_answered_then(files: tuple[Path, Path]) -> None:
    write(files[0], [decision(0), decision(1, HELD), decision(2)])
    arguments = ["batch", str(files[0]), "-o", str(files[1])]
    with decision_server() as server:
        # given a run whose second request is under way
        process = subprocess.Popen(
            [sys.executable, "-m", "decide", *arguments, "--url", server.url],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert server.holds.acquire(timeout=PATIENCE_SECONDS)
        assert [one["result"]["id"] for one in lines(files[1])] == ["d0"]
        # when it is interrupted, and the answer comes after that
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert b"Ctrl-C again" in process.stderr.readline()
        server.go_on.set()
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        # then
        assert (process.returncode, out, b"Traceback" in err) == (130, b"", False), err
        assert [one["result"]["id"] for one in lines(files[1])] == ["d0", "d1"]
        # and the same command goes on
        told = decide(*arguments, "--url", server.url)
    assert (told.status, "3 answered, 2 of them before" in told.out) == (0, True), told.err
    assert server.asked == [["d0"], ["d1"], ["d2"]]


def test_a_second_ctrl_c_leaves_at_once(files: tuple[Path, Path]) -> None:
    write(files[0], [decision(0), decision(1, HELD)])
    with decision_server() as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "decide", "batch", str(files[0]), "-o", str(files[1]), "--url", server.url],
            env=environment(),
            stderr=subprocess.PIPE,
        )
        assert server.holds.acquire(timeout=PATIENCE_SECONDS)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert b"Ctrl-C again" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, b"Traceback" in err) == (130, False), err
    assert [one["result"]["id"] for one in lines(files[1])] == ["d0"]


@pytest.mark.parametrize(
    ("refusal", "status"),
    [((503, b'{"error": "busy"}'), 7), ((401, b'{"error": "no key"}'), 5), ((200, b"<html>"), 8)],
)
def test_what_the_next_request_would_meet_too_ends_it_and_nothing_is_lost(
    files: tuple[Path, Path], refusal: tuple[int, bytes], status: int
) -> None:
    write(files[0], [decision(0), decision(1)])
    arguments = ["batch", str(files[0]), "-o", str(files[1]), "--wait", "0"]
    with decision_server() as server:
        server.refusal = refusal
        told = decide(*arguments, "--url", server.url)
        assert (told.status, told.out) == (status, "")
        assert server.asked == [["d0"]]
        server.refusal = None
        assert decide(*arguments, "--url", server.url).status == 0
    assert len(lines(files[1])) == 2


def test_many_are_asked_at_a_time(files: tuple[Path, Path]) -> None:
    write(files[0], [decision(number, f"{HELD} {number}") for number in range(5)])
    with decision_server() as server:
        arguments = ["batch", str(files[0]), "-o", str(files[1]), "--url", server.url, "--concurrency", "3"]
        process = subprocess.Popen([sys.executable, "-m", "decide", *arguments], env=environment())
        for _ in range(3):
            assert server.holds.acquire(timeout=PATIENCE_SECONDS)
        assert len(server.asked) == 3
        server.go_on.set()
        assert process.wait(PATIENCE_SECONDS) == 0
    assert [one["line"] for one in lines(files[1])] == [1, 2, 3, 4, 5]


def test_stdin_and_an_empty_file_will_do(files: tuple[Path, Path]) -> None:
    with decision_server() as server:
        told = decide("batch", "-", "-o", str(files[1]), "--url", server.url, given=json.dumps(decision(0)))
        assert told.status == 0, told.err
        files[0].touch()
        other = files[1].with_name("none.jsonl")
        assert decide("batch", str(files[0]), "-o", str(other), "--url", server.url).status == 0
    assert len(lines(files[1])) == 1
    assert other.read_bytes() == b""


def test_what_cannot_be_is_told(files: tuple[Path, Path]) -> None:
    write(files[0], [decision(0)])
    dead = ("--url", "http://127.0.0.1:9", "--wait", "0")
    assert decide("batch", str(files[0]), *dead).status == 2
    assert decide("batch", "nothing.jsonl", "-o", str(files[1]), *dead).status == 3
    assert decide("batch", str(files[0]), "-o", str(files[0]), *dead).status == 2
    assert lines(files[0]) == [decision(0)]
    assert decide("batch", str(files[0]), "-o", str(files[1]), *dead, "--transform").status == 2
    assert decide("batch", str(files[0]), "-o", str(files[1]), *dead, "--instances", "2").status == 2
    assert decide("batch", str(files[0]), "-o", str(files[1]), *dead).status == 4
