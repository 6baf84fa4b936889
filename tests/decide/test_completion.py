"""The pieces of a chat completion, however its bytes are cut."""

import json

import pytest

from decide.completion import Piece, pieces
from decision_client import BusyError, ScoringError, UnexpectedAnswerError, UnreachableError
from tests.decide.sse_server import event

DONE = b"data: [DONE]\n\n"
STREAM = b": a comment\n\n" + event("gr\u00fc\u00df") + event(" dich \U0001f600", finish_reason="stop") + DONE


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_stream_is_read_wherever_it_is_cut(size: int) -> None:
    chunks = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    assert list(pieces(chunks)) == [Piece("grüß"), Piece(" dich 😀", "stop")]


def test_line_ends_may_be_those_of_windows_and_the_last_may_be_missing() -> None:
    stream = event("a").replace(b"\n", b"\r\n") + event("b", finish_reason="stop").rstrip()
    assert [piece.text for piece in pieces([stream])] == ["a", "b"]


def test_nothing_is_read_after_the_end() -> None:
    assert [piece.text for piece in pieces([event("a"), DONE, b"data: nonsense\n\n"])] == ["a"]


def test_a_piece_comes_before_the_rest_has_been_sent() -> None:
    def chunks():  # type: ignore[no-untyped-def]
        yield event("a")
        raise AssertionError("asked for more before the first piece was taken")

    assert next(pieces(chunks())) == Piece("a")


def test_an_answer_that_is_not_streamed_is_one_piece() -> None:
    told = {"choices": [{"message": {"content": "a\nb"}, "finish_reason": "length"}], "usage": {"completion_tokens": 3}}
    assert list(pieces([json.dumps(told, indent=1).encode()])) == [Piece("a\nb", "length", 3)]


def test_events_without_text_add_nothing() -> None:
    first = b'data: {"choices": [{"delta": {"role": "assistant", "content": null}}]}\n\n'
    usage = b'data: {"choices": [], "usage": {"completion_tokens": 9}}\n\n'
    assert list(pieces([first, usage, DONE])) == [Piece(""), Piece("", None, 9)]


@pytest.mark.parametrize("chunks", [[], [b": a comment\n\n"], [event("a"), event("b")]])
def test_a_stream_without_its_end_broke_off(chunks: list[bytes]) -> None:
    with pytest.raises(UnreachableError, match="broke off"):
        list(pieces(chunks))


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"error": {"message": "no", "code": 503}}, BusyError),
        ({"error": "no"}, ScoringError),
        ({"error": {"message": "no", "code": "x"}}, ScoringError),
        ({"result": 1}, UnexpectedAnswerError),
        ([], UnexpectedAnswerError),
        ({"choices": [7]}, UnexpectedAnswerError),
    ],
)
def test_what_is_no_completion_is_an_error(told: object, kind: type[Exception]) -> None:
    for body in (json.dumps(told).encode(), b"data: " + json.dumps(told).encode() + b"\n\n"):
        with pytest.raises(kind):
            list(pieces([body]))


def test_what_is_no_json_is_told() -> None:
    with pytest.raises(UnexpectedAnswerError, match="<html>"):
        list(pieces([b"<html>"]))
