"""What is wrong with a request stands beside the field that has to be changed."""

import re

from playwright.sync_api import Page, expect

from tests.adapter.playground.page import Served, score, status


def test_the_endpoints_sentence_stands_beside_the_field_that_it_names(page: Page) -> None:
    second = page.get_by_label("Id of option 2")
    second.fill("account")
    score(page)
    sentence = "'account' is already the id at index 0; ids must differ"
    expect(page.get_by_role("alert")).to_contain_text(f"decision.options[1].id: {sentence}")
    expect(second).to_be_focused()
    expect(second).to_have_accessible_description(sentence)
    # when it is corrected
    second.fill("billing")
    page.keyboard.press("Control+Enter")
    status(page).to_contain_text("Answered in")
    expect(second).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator(".wrong")).to_have_count(0)


def test_several_problems_stand_beside_several_fields(page: Page) -> None:
    for label in ("State", "Question", "Option 3, what the model reads"):
        page.get_by_label(label, exact=True).fill("")
    score(page)
    expect(page.get_by_label("State", exact=True)).to_have_accessible_description("must not be empty")
    expect(page.get_by_label("Question", exact=True)).to_have_accessible_description("must not be blank")
    last = page.get_by_label("Option 3, what the model reads")
    expect(last).to_have_accessible_description("must not be blank")


def test_a_state_that_is_no_json_is_not_sent(page: Page, served: Served) -> None:
    page.get_by_role("radio", name="JSON").check()
    score(page)
    expect(page.get_by_label("State", exact=True)).to_have_accessible_description(re.compile("^not JSON: "))
    assert not served.scorer.asked


def test_too_few_options_are_told_where_one_is_added(page: Page) -> None:
    for _ in range(2):
        page.get_by_role("button", name="Remove option 1").click()
    score(page)
    adds = page.get_by_role("button", name="Add an option")
    expect(adds).to_have_accessible_description("needs at least 2, got 1")
    expect(adds).to_be_focused()
