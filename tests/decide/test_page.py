"""docs/decide.md and the help: every command, every option, every exit status, and nothing that is not there."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from decide.app import app
from decide.errors import ExitStatus
from tests.decide.command import decide

COMMANDS = sorted(str(command.callback.__name__) for command in app.registered_commands if command.callback)


@pytest.fixture(scope="module")
def page(repository_root: Path) -> str:
    return (repository_root / "docs" / "decide.md").read_text("utf-8")


def calls(text: str) -> Iterator[list[str]]:
    """The words of each call of `decide` in the shell blocks of a page, without the first."""
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["decide"]:
                yield words[1:]


def options(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("-") and word != "-"}


def known_options(shown: str) -> set[str]:
    """The options in a help."""
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", shown.partition("Examples:")[0]))


@pytest.fixture(scope="module")
def helps() -> dict[str, str]:
    return {name: decide(name, "--help", COLUMNS="200").out for name in COMMANDS}


def test_every_command_has_a_section_with_calls(page: str) -> None:
    sections = dict(re.findall(r"^## (\w+): .*?\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    assert sorted(sections) == COMMANDS
    for name, text in sections.items():
        assert [words[0] for words in calls(text)] == [name] * len(list(calls(text)))


def test_every_call_on_the_page_has_options_that_there_are(page: str, helps: dict[str, str]) -> None:
    for name, *words in calls(page):
        known = known_options(helps[name]) if name in helps else {"--help"}
        assert options(words) <= known, name


def test_every_help_ends_with_examples_that_have_options_that_there_are(helps: dict[str, str]) -> None:
    for command in app.registered_commands:
        heading, *examples = (command.epilog or "").split("\n\n")
        assert heading == "Examples:"
        assert examples
        for example in examples:
            [[name, *words]] = calls(f"```bash\n{example}\n```")
            assert options(words) <= known_options(helps[name]), example


def test_the_table_has_every_exit_status(page: str) -> None:
    [table] = re.findall(r"## Exit statuses\n(.*?)\n## ", page, re.DOTALL)
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == list(ExitStatus)


def test_the_lines_of_a_batch_are_those_that_a_batch_writes(page: str, url: str, tmp_path: Path) -> None:
    asked, answered = re.findall(r"```jsonl\n(.*?)```", page, re.DOTALL)
    told = decide("batch", "-", "-o", str(tmp_path / "out.jsonl"), "--url", url, given=asked)
    assert told.status == 1, told.err
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    for shown, real in zip(map(json.loads, answered.splitlines()), written, strict=True):
        assert shown.keys() <= real.keys()
        assert (shown["line"], shown["input"], shown.get("error")) == (real["line"], real["input"], real.get("error"))
