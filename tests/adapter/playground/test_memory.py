"""What the page keeps in the browser, and what it never keeps."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.adapter.playground.page import Served, load, score, status, text_of
from tests.browser import OpenPage

KEY = "a-key-to-be-kept"


def test_the_key_is_asked_for_sent_and_kept_nowhere(open_page: OpenPage, serve: Callable[..., Served]) -> None:
    served = serve(SEMIF_API_KEY=KEY)
    page = open_page(served.url)
    field = page.get_by_label("Key of this endpoint")
    expect(field).to_be_visible()
    score(page)
    expect(page.get_by_role("alert")).to_contain_text("Authorization: needs the key")
    expect(field).to_be_focused()
    field.fill("wrong key")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("without spaces")
    field.fill(KEY)
    page.keyboard.press("Enter")
    status(page).to_contain_text("Answered in")
    assert KEY not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    curl, python = text_of(page, "curl"), text_of(page, "Python")
    assert KEY not in curl + python
    assert 'os.environ["SEMIF_API_KEY"]' in python
    assert "$SEMIF_API_KEY" in curl


def test_history_brings_back_form_and_answer_and_forgets(page: Page, served: Served) -> None:
    score(page)
    status(page).to_contain_text("Answered in")
    load(page, "Yes or no")
    page.keyboard.press("Control+Enter")
    page.get_by_text("History (2)").click()
    # when the page is loaded anew, the form is as it was left and so is the history
    page.reload()
    expect(page.get_by_label("Question", exact=True)).to_have_value("Does the customer need an answer today?")
    page.get_by_text("History (2)").click()
    page.get_by_role("button", name="Which queue should handle this request?").first.click()
    expect(page.get_by_label("Question", exact=True)).to_have_value("Which queue should handle this request?")
    expect(page.locator("#answer strong")).to_have_text("account")
    assert len(served.scorer.asked) == 2
    # and it is forgotten, one and all
    page.get_by_role("button", name="Forget: Which queue").click()
    expect(page.get_by_text("History (1)")).to_be_visible()
    page.get_by_role("button", name="Clear the history").click()
    expect(page.get_by_text("kept here, in this browser alone")).to_be_visible()
    assert "today" not in page.evaluate("JSON.stringify({...localStorage})")


@pytest.mark.parametrize("kept", ["no JSON", '[{"form": {"questions": [{}]}, "results": [{}]}, 7, null]', "{}"])
def test_what_is_no_history_is_none(page: Page, kept: str) -> None:
    page.evaluate("kept => localStorage.setItem('decision-playground.history.1', kept)", kept)
    page.evaluate("kept => sessionStorage.setItem('decision-playground.draft.1', kept)", kept)
    page.reload()
    score(page)
    status(page).to_contain_text("Answered in")
    expect(page.get_by_text("History (1)")).to_be_visible()
