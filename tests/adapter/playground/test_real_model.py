"""The page that the container itself serves, with a real model behind it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.adapter.playground.page import score, status
from tests.browser import OpenPage

STATE = "I was charged twice for the same invoice."
QUESTION = "Which queue should handle this mail?"
OPTIONS = [("account", "Account access and passwords."), ("billing", "Invoices and payments.")]


@pytest.fixture(scope="module")
def container(start_container: Callable[..., Any], model_dir: Path) -> Any:
    return start_container(model_dir, SEMIF_PLAYGROUND="1").wait_until_ready()


def test_what_is_typed_is_scored_and_shown_as_bars(container: Any, open_page: OpenPage) -> None:
    page = open_page(f"http://127.0.0.1:{container.port}/")
    # given a decision that is typed
    page.get_by_label("State", exact=True).fill(STATE)
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_role("button", name="Remove option 3").click()
    for number, (option_id, description) in enumerate(OPTIONS, start=1):
        page.get_by_label(f"Id of option {number}").fill(option_id)
        page.get_by_label(f"Option {number}, what the model reads").fill(description)
    # when it is scored
    score(page)
    status(page).to_contain_text("Answered in")
    # then the page shows what a program is answered
    options = [{"id": option_id, "description": description} for option_id, description in OPTIONS]
    asked = {"decision": {"id": "queue", "state": STATE, "question": QUESTION, "options": options}}
    answer = container.score(asked)[1]["result"]
    shares = [f"{100 * share:.1f} %" for share in answer["probabilities"]]
    best = max(range(2), key=lambda index: answer["probabilities"][index])
    expect(page.locator(".choice")).to_have_text(f"{OPTIONS[best][0]} {shares[best]}")
    assert page.locator(".bars .share").all_inner_texts() == shares
    widths = page.locator(".bar span").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.inlineSize))")
    assert widths == pytest.approx([100 * share for share in answer["probabilities"]], abs=0.01)
    first, second = sorted(answer["probabilities"], reverse=True)
    for name, share in (("Margin", first - second), ("Option mass", answer["allowed_token_mass"])):
        measure = page.locator(".measures div").filter(has_text=name).locator("dd")
        expect(measure).to_have_text("< 0.1 %" if share < 0.001 else f"{100 * share:.1f} %")
    expect(page.locator("#endpoint")).to_have_text(answer["model"]["gguf"]["file"])


def test_a_state_that_is_too_long_is_told_with_the_limit(container: Any, open_page: OpenPage) -> None:
    page = open_page(f"http://127.0.0.1:{container.port}/")
    page.get_by_label("State", exact=True).fill("word " * 6000)
    score(page)
    expect(page.get_by_role("alert")).to_contain_text("at most 4096 (SEMIF_MAX_TOKENS")
    assert container.request("GET", "/ping")[0] == 200
