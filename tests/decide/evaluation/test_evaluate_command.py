"""`decide evaluate`, as a process, against endpoints over real HTTP."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from decide.evaluation.saved_run import load
from tests.decide.command import PATIENCE_SECONDS, decide, environment
from tests.decide.evaluation.endpoint import Refused, endpoint
from tests.decide.evaluation.rows import line, write

LABELS = ("account", "billing", "account", "sales")


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return write(tmp_path / "labelled.jsonl", [line(number, label) for number, label in enumerate(LABELS)])


def likes_the_first(decision: dict[str, Any]) -> list[float]:
    return [2.0, *[0.0] * (len(decision["options"]) - 1)]


def knows(decision: dict[str, Any]) -> list[float]:
    """Logits that are right, wherever the option stands."""
    label = LABELS[int(decision["id"].removeprefix("d-"))]
    return [3.0 if option["id"] == label else 0.0 for option in decision["options"]]


def test_the_table_the_run_and_the_report(labelled: Path, tmp_path: Path) -> None:
    with endpoint(likes_the_first) as here:
        told = decide("evaluate", "labelled.jsonl", "--url", here.url, "--report", "out/report.html", cwd=tmp_path)
    # then
    assert told.status == 0, told.err
    assert told.err.startswith("saved in ")  # no bar, and no empty line in its place
    assert "4/4    50.0% 15.0–85.0" in told.out  # Wilson of 2 of 4
    assert "with no threshold: 100.0% (4/4) of the decisions acted on, 50.0% (2/4) of these right" in told.out
    [saved] = tmp_path.glob("*.run.jsonl")
    assert saved.name == f"labelled.127-0-0-1-{here.url.rpartition(':')[2]}.run.jsonl"
    run = load(saved)
    assert [row.correct for row in run.rows] == [True, False, True, False]
    assert run.model is not None
    assert run.model.gguf is not None
    assert run.model.gguf.sha256 == here.gguf_sha256
    assert "<!doctype html>" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_a_saved_run_is_shown_again_without_asking(labelled: Path, tmp_path: Path) -> None:
    with endpoint(likes_the_first) as here:
        first = decide("evaluate", str(labelled), "--url", here.url, "--save", "a.jsonl", "--json", cwd=tmp_path)
    again = decide("evaluate", "a.jsonl", "--json", "--min-probability", "0.9", cwd=tmp_path)
    assert (again.status, again.json["runs"][0]["families"]) != (1, first.json["runs"][0]["families"])
    assert again.json["runs"][0]["overall"]["accuracy"] == first.json["runs"][0]["overall"]["accuracy"]
    assert again.json["runs"][0]["overall"]["accepted"]["count"] == 0
    assert "nothing is asked" in again.err


def test_flips_show_a_model_that_likes_a_place(labelled: Path, tmp_path: Path) -> None:
    with endpoint(likes_the_first) as liking, endpoint(knows) as knowing:
        options = ("--order-flips", "--json")
        told = [decide("evaluate", str(labelled), "--url", it.url, *options, cwd=tmp_path) for it in (liking, knowing)]
    assert [one.json["runs"][0]["overall"]["flips"]["count"] for one in told] == [4, 0]
    assert len(liking.asked) == 12


def test_two_endpoints_are_compared(labelled: Path, tmp_path: Path) -> None:
    with endpoint(likes_the_first) as a, endpoint(knows) as b:
        told = decide("evaluate", str(labelled), "--url", a.url, "--against", b.url, "--report", "r.html", cwd=tmp_path)
    assert told.status == 0, told.err
    assert "these 4 rows cannot tell (A − B = -50.0%, McNemar p = 0.5)" in told.out
    assert "B's probabilities are better" in told.out
    # then saved runs give the same
    saved = sorted(tmp_path.glob("*.run.jsonl"), key=lambda path: a.url.rpartition(":")[2] not in path.name)
    again = decide("evaluate", str(saved[0]), "--against", str(saved[1]), "--json")
    assert again.json["comparison"] == {
        **again.json["comparison"],
        **{"rows": 4, "both": 2, "only_a": 0, "only_b": 2, "neither": 0, "mcnemar_p": 0.5},
    }


def test_what_is_wrong_with_the_labels_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    lines = [line(1, "biling"), line(2), line(2), {"id": "x"}]
    path = write(tmp_path / "labelled.jsonl", lines)
    with endpoint(likes_the_first) as here:
        told = decide("evaluate", str(path), "--url", here.url, cwd=tmp_path)
    assert (told.status, here.asked) == (3, [])
    assert [one.partition(": ")[0] for one in told.err.splitlines()] == [
        *("line 1", "line 3", "line 4", "line 4", "line 4", "line 4", "error")
    ]
    assert list(tmp_path.iterdir()) == [path]


def test_failed_rows_count_as_wrong_and_are_explained(labelled: Path, tmp_path: Path) -> None:
    def refuses_one(decision: dict[str, Any]) -> list[float]:
        if decision["id"] == "d-1":
            raise Refused(413, "decision 'd-1': 9000 tokens, at most 4096")
        return knows(decision)

    with endpoint(refuses_one) as here:
        told = decide("evaluate", str(labelled), "--url", here.url, "--json", "--report", "r.html", cwd=tmp_path)
    assert (
        told.json["runs"][0]["overall"]["valid"]["count"] == told.json["runs"][0]["overall"]["accuracy"]["count"] == 3
    )
    assert "9000 tokens, at most 4096" in (tmp_path / "r.html").read_text("utf-8")


def test_a_run_without_any_answer_says_why(labelled: Path, tmp_path: Path) -> None:
    def refuses(_: dict[str, Any]) -> list[float]:
        raise Refused(400, "decision.options: at most 2")

    with endpoint(refuses) as here:
        told = decide("evaluate", str(labelled), "--url", here.url, cwd=tmp_path)
    assert told.status == 1
    assert "no row has an answer; the first says: InvalidRequestError: decision.options: at most 2" in told.err


def test_an_accuracy_that_is_not_reached_fails_a_pipeline(labelled: Path, tmp_path: Path) -> None:
    with endpoint(likes_the_first) as here:
        command = ("evaluate", str(labelled), "--url", here.url, "--fail-under")
        assert decide(*command, "0.5", cwd=tmp_path).status == 0
        told = decide(*command, "0.51", cwd=tmp_path)
    assert told.status == 1
    assert "the accuracy is 0.5000, below --fail-under 0.51" in told.err


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(labelled: Path, tmp_path: Path) -> None:
    # given an endpoint that holds the third decision
    reached, free = Event(), Event()

    def holds(decision: dict[str, Any]) -> list[float]:
        if decision["id"] == "d-2":
            reached.set()
            free.wait(PATIENCE_SECONDS)
        return knows(decision)

    with endpoint(holds) as here:
        arguments = ("evaluate", str(labelled), "--url", here.url, "--save", "a.run.jsonl")
        process = subprocess.Popen(
            [sys.executable, "-m", "decide", *arguments],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            # when
            assert reached.wait(PATIENCE_SECONDS)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            free.set()
            process.kill()
            process.wait()
        # then
        assert (process.returncode, out) == (130, b"")
        assert b"the same command goes on from there" in err
        assert b"Traceback" not in err
        assert [row.id for row in load(tmp_path / "a.run.jsonl").rows] == ["d-0", "d-1"]
        here.asked.clear()
        again = decide(*arguments, cwd=tmp_path)
    assert again.status == 0, again.err
    assert "a.run.jsonl has 2 rows; 2 are left to ask" in again.err
    assert [decision["id"] for decision in here.asked] == ["d-2", "d-3"]


def test_a_run_of_other_labels_or_another_model_is_refused_with_the_reason(labelled: Path, tmp_path: Path) -> None:
    with endpoint(knows) as here:
        command = ("--url", here.url, "--save", "a.run.jsonl")
        assert decide("evaluate", str(labelled), *command, cwd=tmp_path).status == 0
        other = write(tmp_path / "other.jsonl", [line(1)])
        refused = decide("evaluate", str(other), *command, cwd=tmp_path)
        assert refused.status == 3
        assert "is a run of labelled.jsonl" in refused.err
        # given a run that is half done, and then another model
        run = tmp_path / "a.run.jsonl"
        run.write_text("".join(run.read_text("utf-8").splitlines(keepends=True)[:3]))
        here.gguf_sha256 = "c2" * 32
        changed = decide("evaluate", str(labelled), *command, cwd=tmp_path)
    assert changed.status == 8
    assert "another model answers" in changed.err
    assert len(load(run).rows) == 1


def test_what_cannot_be_is_told(labelled: Path, tmp_path: Path) -> None:
    with endpoint(knows) as here:
        decide("evaluate", str(labelled), "--url", here.url, "--save", str(tmp_path / "a.run.jsonl"))
    run = str(tmp_path / "a.run.jsonl")
    for arguments, status, said in (
        ((str(labelled),), 2, "say which endpoint to ask"),
        (("nothing.jsonl", "--url", "http://127.0.0.1:9"), 3, "there is no such file"),
        ((str(tmp_path), "--url", "http://127.0.0.1:9"), 3, "is a folder"),
        ((run, "--against", "prod"), 2, "--against must be one, too: prod is no file"),
        ((run, "--against", str(labelled)), 3, "is no saved run; --against takes one, or a URL or an environment"),
        (("-", "--url", "http://127.0.0.1:9"), 2, "are read from a file"),
        ((str(labelled), "--url", "http://127.0.0.1:9", "--wait", "0"), 4, "cannot be reached"),
        ((str(labelled), "--url", "http://127.0.0.1:9", "--save", "/dev/null/x"), 3, "/dev/null/x: cannot be"),
        ((run, "--report", "/dev/null/x.html"), 3, "/dev/null/x.html: cannot be written"),
    ):
        told = decide("evaluate", *arguments, cwd=tmp_path)
        assert told.status == status, told.err
        assert said in told.err


def test_the_real_endpoint_answers_every_layout_as_its_own_contract_does(
    url: str, tiny_container: Any, tmp_path: Path
) -> None:
    # given questions in System One's layout, asked over System One's contract, too
    questions: dict[str, Any] = {
        "refund": {"type": "noul", "instructions": "Money back?", "criteria": {"true": "Asks for money."}},
        "team": {"type": "choice", "criteria": {"billing": "Payments", "sales": None}},
        "urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["Later", "Now"]},
    }
    labels = {"refund": "yes", "team": "billing", "urgency": 1}
    status, theirs = tiny_container.request(
        "POST",
        "/v1/systemone",
        json.dumps({"model": "jev-latest", "state": "Charged twice.", "questions": questions}),
        Content_Type="application/json",
    )
    assert status == 200, theirs
    row = {"id": "r", "state": "Charged twice.", "questions": questions, "labels": labels}
    # when
    told = decide("evaluate", str(write(tmp_path / "labelled.jsonl", [row])), "--url", url, "--save", "a", cwd=tmp_path)
    # then the prompts are the same to the byte
    assert told.status == 0, told.err
    for one, name in zip(load(tmp_path / "a").rows, questions, strict=True):
        assert one.answer is not None
        assert one.answer.prompt_sha256 == theirs["answers"][name]["x_readout"]["prompt_sha256"]
