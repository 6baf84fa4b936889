"""`decide chat`: a conversation whose answers are shown while they are written."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from decide import output
from decide.conversation import Answer, Conversation
from decide.errors import UsageError
from decide.files import STANDARD_INPUT, read_bytes, text_of
from decide.options import INTERACTIVE_SECONDS, JsonOption, WaitOption, patient, with_target
from decide.target import Target

EXAMPLES = (
    "decide chat --env local 'Name three queues of a help desk.'",
    "decide chat --env local --max-tokens 20 --json - < prompt.txt",
    "decide chat --env local",
)


@with_target
def chat(
    *,
    target: Target,
    prompt: Annotated[str | None, typer.Argument(help="What to say; - is stdin. Without it, a conversation.")] = None,
    system: Annotated[str | None, typer.Option(help="What the model is told first.")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="The most tokens of an answer.")] = 512,
    temperature: Annotated[float | None, typer.Option(min=0, help="0 for the likeliest words.")] = None,
    wait: WaitOption = INTERACTIVE_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Chat with the chat endpoint; words are shown as they come. Ctrl-C ends it, in a conversation Ctrl-D, too."""
    options: dict[str, object] = {"max_tokens": max_tokens}
    if temperature is not None:
        options["temperature"] = temperature
    conversation = Conversation(target, patient(wait), options)
    if not _is_utf8(prompt or "") or not _is_utf8(system or ""):
        raise UsageError("what the model is told is not UTF-8; give it on stdin, from a file that is")
    if system:
        conversation.messages.append({"role": "system", "content": system})
    if prompt is None and sys.stdin.isatty():
        for said in _turns(target):
            _show(conversation, said, as_json)
        return
    said = text_of(read_bytes(STANDARD_INPUT), "stdin") if prompt in (None, str(STANDARD_INPUT)) else prompt
    if not said or not said.strip():
        raise UsageError("there is nothing to say: give a PROMPT, or text on stdin")
    _show(conversation, said, as_json)


def _is_utf8(text: str) -> bool:
    """Whether ``text`` can be sent: an argument may have bytes that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _turns(target: Target) -> Iterator[str]:
    """What a person says, turn by turn, until the input ends."""
    import readline  # noqa: F401, PLC0415  # gives input() a history, for people only

    output.messages.print(output.plain(f"chatting with {target}; Ctrl-D ends it", "dim"))
    while True:
        try:
            said = input("> ")
        except EOFError:
            return
        if said.strip():
            yield said


def _show(conversation: Conversation, said: str, as_json: bool) -> None:
    answer = conversation.say(said, (lambda _: None) if as_json else output.write)
    if as_json:
        output.print_json(asdict(answer))
        return
    output.write("\n")
    output.messages.print(_footer(answer), style="dim")


def _footer(answer: Answer) -> str:
    if not answer.pieces:
        return "the model ended its answer before the first word"
    rate = f", {answer.pieces_per_second:.0f} a second" if answer.pieces_per_second else ""
    cut = "; cut at --max-tokens" if answer.finish_reason == "length" else ""
    return f"first words after {answer.first_seconds * 1000:.0f} ms, {answer.pieces} pieces{rate}{cut}"
