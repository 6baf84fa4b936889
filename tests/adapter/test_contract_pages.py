"""The pages about contracts show what the container really answers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.adapter.expectations import parts_of


def blocks(root: Path, page: str, language: str) -> list[str]:
    """Code of ``language`` in a page of docs/, in order."""
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", (root / "docs" / page).read_text("utf-8"), re.DOTALL)
    return found


@pytest.mark.parametrize(
    ("page", "route"),
    [("semif.md", "/invocations"), ("openai-decisions.md", "/invocations"), ("openai-decisions.md", "/v1/decisions")],
)
def test_the_request_of_a_page_gets_the_answer_of_the_page(
    container: Any, repository_root: Path, page: str, route: str
) -> None:
    request, answer = blocks(repository_root, page, "json")
    status, told = container.request("POST", route, request, Content_Type="application/json")
    assert status == 200
    assert parts_of(told, json.loads(answer)) == json.loads(answer)


def test_the_lines_of_a_page_get_the_lines_of_the_page(container: Any, repository_root: Path) -> None:
    # given
    lines, expected = blocks(repository_root, "json-lines.md", "jsonl")
    wanted = [json.loads(line) for line in expected.splitlines()]
    # when
    told = [json.loads(line) for line in container.lines(lines)]
    # then
    assert parts_of(told, wanted) == wanted


def test_the_python_of_openai_s_page_runs(container: Any, repository_root: Path) -> None:
    [code] = blocks(repository_root, "openai-decisions.md", "python")
    names: dict[str, Any] = {}
    exec(code.replace(":8080/", f":{container.port}/"), names)
    assert names["decision"].answers[0].probability == pytest.approx(0.1306, abs=5e-4)
