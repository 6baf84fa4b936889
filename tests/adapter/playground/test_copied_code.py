"""What is copied from the page runs as it is, and asks the same."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import Page, expect

import decision_client
from tests.adapter.playground.page import NASTY, Served, load, score, status, text_of
from tests.browser import OpenPage


def run(command: Sequence[str], **environment: str) -> str:
    """What a command prints."""
    done = subprocess.run(command, text=True, capture_output=True, check=False, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_python(code: str, **environment: str) -> str:
    """What a program prints, which finds the client's package as an application does."""
    return run([sys.executable, "-c", code], PYTHONPATH=str(Path(decision_client.__file__).parents[1]), **environment)


def test_curl_and_python_as_copied_ask_the_same(page: Page, served: Served) -> None:
    for label in ("State", "Question", "Option 1, what the model reads"):
        page.get_by_label(label, exact=True).fill(NASTY)
    page.get_by_text("More").click()
    page.get_by_label("Average over orders of the options").check()
    for shell in ("sh", "bash"):
        answer = json.loads(run([shell, "-c", text_of(page, "curl")]))
        assert answer["result"]["option_ids"] == ["account", "billing", "sales"]
    score(page)
    status(page).to_contain_text("Answered in")
    by_sh, by_bash, by_page = served.scorer.asked
    assert by_sh == by_bash == by_page
    printed = run_python(text_of(page, "Python"))
    assert printed.split() == ["account", str(1 / 3), "0.0", "1.0"]
    assert served.scorer.asked[-1] == by_page


def test_python_of_several_questions_over_json_asks_the_same(page: Page, served: Served) -> None:
    load(page, "An incident: JSON, three questions")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer article")).to_have_count(3)
    printed = run_python(text_of(page, "Python"))
    assert [line.split()[:2] for line in printed.splitlines()] == [
        ["action", "rollback"],
        ["page", "no"],
        ["severity", "0"],
    ]
    assert served.scorer.asked[:3] == served.scorer.asked[3:]


def test_curl_of_an_endpoint_with_a_key_takes_it_from_the_environment(
    open_page: OpenPage, serve: Callable[..., Served]
) -> None:
    page = open_page(serve(SEMIF_API_KEY="k-1").url)
    expect(page.get_by_label("Key of this endpoint")).to_be_visible()
    printed = run(["sh", "-c", text_of(page, "curl")], SEMIF_API_KEY="k-1")
    assert json.loads(printed)["result"]["id"] == "queue"
    assert run_python(text_of(page, "Python"), SEMIF_API_KEY="k-1").startswith("account")


def test_a_state_that_is_no_json_gives_nothing_to_copy_into_a_shell(page: Page) -> None:
    page.get_by_role("radio", name="JSON").check()
    page.get_by_label("State", exact=True).fill("{\nJSON\ntouch /tmp/x\n")
    assert text_of(page, "curl").startswith("The state is not JSON: ")
