"""`decide chat`, as a process, against a small real server."""

import os
import pty
import signal
import subprocess
import sys
from threading import Event

import pytest

from tests.decide.command import PATIENCE_SECONDS, decide, environment
from tests.decide.sse_server import chat_server, event

DONE = b"data: [DONE]\n\n"
SPOKEN = (event("Good"), event(" day", finish_reason="stop"), DONE)


@pytest.mark.parametrize("chunked", [True, False])
def test_an_answer_is_printed(chunked: bool) -> None:
    with chat_server(*SPOKEN, chunked=chunked) as server:
        told = decide("chat", "--url", server.url, "--api-key", "k", "--system", "Be kind.", "Hello")
    assert (told.status, told.out) == (0, "Good day\n"), told.err
    assert "2 pieces" in told.err
    assert server.paths == ["/v1/chat/completions"]
    assert server.keys == ["Bearer k"]
    assert server.asked[0]["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
    ]
    assert server.asked[0]["stream"] is True


def test_json_has_the_whole_answer_and_the_prompt_may_come_from_stdin() -> None:
    with chat_server(*SPOKEN) as server:
        told = decide("chat", "--url", f"{server.url}/v1", "--max-tokens", "7", "--json", given="Hello ü")
    assert told.json["content"] == "Good day"
    assert told.json["finish_reason"] == "stop"
    assert server.paths == ["/v1/chat/completions"]
    assert (server.asked[0]["messages"][0]["content"], server.asked[0]["max_tokens"]) == ("Hello ü", 7)


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    with chat_server(event("\x1b[2J"), DONE) as server:
        assert decide("chat", "--url", server.url, "Hello").out == "\\x1b[2J\n"


def test_nothing_to_say_is_a_usage_error() -> None:
    told = decide("chat", "--url", "http://127.0.0.1:9", given=" \n")
    assert told.status == 2
    assert "there is nothing to say" in told.err


def test_an_argument_that_is_no_text_is_told() -> None:
    told = decide("chat", "--url", "http://127.0.0.1:9", os.fsdecode(b"\xff"))
    assert told.status == 2
    assert "is not UTF-8" in told.err


def test_an_answer_without_words_is_said_to_be_one() -> None:
    with chat_server(event("", finish_reason="stop"), DONE) as server:
        told = decide("chat", "--url", server.url, "Hello")
    assert (told.status, told.out) == (0, "\n")
    assert "before the first word" in told.err


def test_an_endpoint_without_chat_is_told(url: str) -> None:
    told = decide("chat", "--url", url, "Hello")
    assert told.status == 6
    assert "/v1/chat/completions" in told.err


def test_a_dead_endpoint_is_told() -> None:
    assert decide("chat", "--url", "http://127.0.0.1:9", "--wait", "0", "Hello").status == 4


def test_an_answer_that_breaks_off_is_told_and_not_asked_for_again() -> None:
    with chat_server(event("Good"), b"data: {", chunked=False) as server:
        told = decide("chat", "--url", server.url, "Hello")
    assert (told.status, told.out) == (8, "Good")
    assert len(server.asked) == 1


def test_an_answer_whose_server_stops_is_told() -> None:
    with chat_server(event("Good"), chunked=False) as server:
        told = decide("chat", "--url", server.url, "Hello")
    assert (told.status, told.out) == (4, "Good")
    assert "broke off" in told.err
    assert len(server.asked) == 1


def test_a_key_that_no_header_can_carry_is_told_and_not_shown() -> None:
    told = decide("chat", "--url", "http://127.0.0.1:9", "Hello", DECIDE_API_KEY="secret\n")
    assert told.status == 2
    assert "secret" not in told.err


def test_ctrl_c_ends_it_and_what_came_stands() -> None:
    # given an answer whose first word has come, and the rest never will
    never = Event()
    with chat_server(event("Good"), never, *SPOKEN) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "decide", "chat", "--url", server.url, "Hello"],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdout.read(4) == b"Good"
        # when
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        never.set()
    # then
    assert process.returncode == 130, err
    assert out == b""
    assert b"Traceback" not in err


def test_a_reader_who_goes_away_is_not_taken_for_the_endpoint() -> None:
    rest = Event()
    with chat_server(event("Good"), rest, event(" day"), DONE) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "decide", "chat", "--url", server.url, "Hello"],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(4) == b"Good"
        process.stdout.close()
        rest.set()
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(PATIENCE_SECONDS) == 1
    assert err == b""


def test_in_a_terminal_it_is_a_conversation_that_remembers() -> None:
    terminal, theirs = pty.openpty()
    with chat_server(*SPOKEN) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "decide", "chat", "--url", server.url],
            env=environment(TERM="dumb"),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        os.write(terminal, b"Hello\n\nAnd you?\n\x04")
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    os.close(terminal)
    os.close(theirs)
    assert process.returncode == 0
    assert out.count(b"Good day\n") == 2
    assert [one["content"] for one in server.asked[1]["messages"]] == ["Hello", "Good day", "And you?"]
