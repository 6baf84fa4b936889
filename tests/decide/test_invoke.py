"""`decide invoke`, as a process, against the real adapter."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.http_server import Reply, serve
from tests.decide.command import PATIENCE_SECONDS, decide, environment
from tests.decide.decision_server import HELD, decision_server

ASKED = ("--state", "The reset email never arrived.", "--question", "Which queue?")
OPTIONS = ("--option", "account=Account access.", "--option", "billing=Payments.")


def test_options_make_a_decision_and_the_answer_is_a_table(url: str) -> None:
    told = decide("invoke", "--url", url, *ASKED, *OPTIONS)
    assert told.status == 0, told.err
    assert "account" in told.out
    assert "of the mass on the options" in told.out


def test_json_is_the_endpoint_s_answer(url: str, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    options = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]
    file.write_text(json.dumps({"decision": {"id": "d", "state": "s", "question": "q", "options": options}}))
    from_file = decide("invoke", "--url", url, "--json", str(file))
    from_stdin = decide("invoke", "--url", url, "--json", "-", given=file.read_text())
    assert from_file.status == from_stdin.status == 0, from_file.err
    assert from_file.json["result"]["option_ids"] == ["yes", "no"]
    assert from_file.json["result"]["option_logits"] == from_stdin.json["result"]["option_logits"]


def test_a_refusal_is_the_endpoint_s_sentence(url: str) -> None:
    told = decide("invoke", "--url", url, *ASKED, "--option", "only")
    assert (told.status, told.out) == (3, "")
    assert told.err.startswith("error: decision.options: ")


def test_a_dead_endpoint_is_told() -> None:
    told = decide("invoke", "--url", "http://127.0.0.1:9", "--wait", "0", *ASKED, *OPTIONS)
    assert told.status == 4
    assert "cannot be reached" in told.err


def test_no_endpoint_and_no_question_are_usage_errors() -> None:
    for arguments in (["invoke", *ASKED, *OPTIONS], ["invoke", "--url", "http://127.0.0.1:9"], ["invoke", "--what"]):
        assert decide(*arguments).status == 2


def test_a_file_that_is_no_request_is_told(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text("[1]")
    for name in (str(file), str(tmp_path / "nothing"), str(tmp_path)):
        told = decide("invoke", "--url", "http://127.0.0.1:9", name)
        assert told.status == 3
        assert name in told.err


REQUESTS = {
    "semif": {
        "decisions": [
            {
                "id": "a",
                "state": "s",
                "question": "q",
                "options": [{"id": "x", "description": "[b]X[/b]"}, {"id": "y", "description": "Y"}],
            }
        ]
    },
    "system-one": {
        "model": "jev-latest",
        "state": "s",
        "questions": {"refund": {"type": "noul", "instructions": "Money back?"}},
    },
    "openai": {
        "model": "any",
        "input": "s",
        "questions": [{"type": "predicate", "name": "angry", "instructions": "Angry."}],
    },
}


@pytest.mark.parametrize(("contract", "shown"), [("semif", "[b]X[/b]"), ("system-one", "refund"), ("openai", "angry")])
def test_requests_of_every_contract_pass_through(url: str, contract: str, shown: str) -> None:
    request = json.dumps(REQUESTS[contract])
    table = decide("invoke", "--url", url, "-", given=request)
    assert table.status == 0, table.err
    assert shown in table.out
    assert decide("invoke", "--url", url, "--json", "-", given=request).json.keys() & {"results", "answers"}


def test_a_refusal_of_another_contract_is_its_sentence(url: str) -> None:
    told = decide("invoke", "--url", url, "-", given=json.dumps({**REQUESTS["system-one"], "questions": {}}))
    assert told.status == 3
    assert told.err.startswith("error: questions: ")


def test_a_policy_says_what_it_makes_of_the_answer(url: str) -> None:
    sure = ("--fallback", "people", "--min-probability", "0")
    unsure = ("--fallback", "people", "--min-margin", "1")
    assert "(accepted: " in decide("invoke", "--url", url, *ASKED, *OPTIONS, *sure).out
    assert "policy: people (min_margin: " in decide("invoke", "--url", url, *ASKED, *OPTIONS, *unsure).out
    told = decide("invoke", "--url", url, "--json", *ASKED, *OPTIONS, *unsure).json
    assert (told["result"]["policy"]["option_id"], told["result"]["policy"]["rule"]) == ("people", "min_margin")


def test_a_policy_for_another_contract_and_two_requests_at_once_are_usage_errors(url: str) -> None:
    other = decide("invoke", "--url", url, "--fallback", "x", "-", given=json.dumps(REQUESTS["openai"]))
    assert other.status == 2
    assert decide("invoke", "--url", url, "--min-margin", "0.5", *ASKED, *OPTIONS).status == 2
    assert decide("invoke", "--url", url, *ASKED, "-", given="{}").status == 2


@pytest.mark.parametrize("option", ["=x", " =x", ""])
def test_an_option_needs_an_id(option: str) -> None:
    told = decide("invoke", "--url", "http://127.0.0.1:9", *ASKED, "--option", option)
    assert told.status == 2
    assert "--option" in told.err


def test_an_option_that_is_not_utf8_is_told() -> None:
    told = decide("invoke", "--url", "http://127.0.0.1:9", *ASKED, "--option", os.fsdecode(b"a=\xe4"), "--option", "b")
    assert told.status == 2
    assert told.err.startswith("error: --option 'a=")


def test_a_server_that_is_no_decision_endpoint_is_told() -> None:
    for body in (b"<html>", b"[]", b"[" * 100_000):
        with serve(Reply(200, body)) as server:
            told = decide("invoke", "--url", server.url, *ASKED, *OPTIONS)
        assert (told.status, told.out) == (8, "")


def test_an_answer_that_is_of_no_contract_is_shown_as_it_is() -> None:
    with serve(Reply(200, b'{"odd": "\\ud800"}')) as server:
        told = decide("invoke", "--url", server.url, *ASKED, *OPTIONS)
    assert (told.status, told.json) == (0, {"odd": "\ud800"})
    assert "note: " in told.err


def test_a_busy_endpoint_is_asked_again_and_told_in_the_end() -> None:
    busy = Reply(503, b'{"error": "busy", "retryable": true}')
    with serve(busy) as server:
        told = decide("invoke", "--url", server.url, "--wait", "0", *ASKED, *OPTIONS)
    assert (told.status, "busy" in told.err) == (7, True)
    with serve(busy, Reply(200, b'{"odd": 1}')) as server:
        assert decide("invoke", "--url", server.url, "--wait", "60", *ASKED, *OPTIONS).status == 0
    assert len(server.received) == 2


def test_a_wrong_key_is_told() -> None:
    with serve(Reply(401, b'{"error": "a key is needed"}')) as server:
        told = decide("invoke", "--url", server.url, *ASKED, *OPTIONS, DECIDE_API_KEY="secret")
    assert (told.status, told.err) == (5, "error: a key is needed\n")
    assert server.received[0].headers["authorization"] == "Bearer secret"


def test_ctrl_c_ends_it_at_once() -> None:
    with decision_server() as server:
        asked = ("--state", HELD, "--question", "q", *OPTIONS)
        process = subprocess.Popen(
            [sys.executable, "-m", "decide", "invoke", "--url", server.url, *asked],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert server.holds.acquire(timeout=PATIENCE_SECONDS)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, b"Traceback" in err) == (130, b"", False), err


def test_results_that_nobody_can_take_are_told(url: str) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "decide", "models", "--url", url, "--json"],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ended.returncode == 8
    assert b"No space left" in ended.stderr
    assert b"Traceback" not in ended.stderr
