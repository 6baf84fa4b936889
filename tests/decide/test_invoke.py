"""`decide invoke`, as a process, against the real adapter."""

import json
from pathlib import Path

from tests.decide.command import decide

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
