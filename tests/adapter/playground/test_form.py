"""What can be asked with the form reaches the endpoint as it was typed."""

import json

from playwright.sync_api import Page, expect

from tests.adapter.playground.page import NASTY, Served, load, score, status, text_of


def test_what_is_typed_reaches_the_endpoint_as_it_is_and_is_never_markup(page: Page, served: Served) -> None:
    for label in ("State", "Question", "Option 1, what the model reads"):
        page.get_by_label(label, exact=True).fill(NASTY)
    page.get_by_label("Id of option 1").fill(NASTY.partition("\n")[0])
    score(page)
    status(page).to_contain_text("Answered in")
    [decision] = served.scorer.asked
    assert (decision.state, decision.question, decision.options[0].description) == (NASTY, NASTY, NASTY)
    expect(page.locator("#answer strong")).to_have_text(NASTY.partition("\n")[0])
    page.get_by_text("History (1)").click()
    assert page.locator("img").count() == 0


def test_numbers_of_a_json_state_are_sent_as_they_were_typed(page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    page.get_by_role("radio", name="JSON").check()
    page.get_by_label("State", exact=True).fill('{"price": 1.0, "id": 12345678901234567890, "text": "a\\nb"}')
    score(page)
    status(page).to_contain_text("Answered in")
    assert '{"price": 1.0, "id": 12345678901234567890, "text": "a\\nb"}' in sent[-1]


def test_several_questions_of_every_type_are_asked_at_once(page: Page, served: Served) -> None:
    load(page, "An incident: JSON, three questions")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer article")).to_have_count(3)
    action, pager, severity = served.scorer.asked
    assert (action.type, pager.type, severity.type) == ("choice", "noul", "score")
    assert action.state == pager.state == severity.state
    expect(page.locator("#answer article").nth(2)).to_contain_text("1.00 of 0–2")
    # and with one more
    page.get_by_role("button", name="Add a question").click()
    expect(page.get_by_role("group", name="Question 4").get_by_label("Question", exact=True)).to_be_focused()
    page.keyboard.type("Is it over?")
    fourth = page.get_by_role("group", name="Question 4")
    fourth.get_by_label("Type").select_option("noul")
    fourth.get_by_text("More").click()
    fourth.get_by_label("Average over orders of the options").check()
    fourth.get_by_label("Look through what the model says").check()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer article")).to_have_count(4)
    last = served.scorer.asked[-1]
    assert (last.id, last.question, [option.id for option in last.options]) == (
        "question-4",
        "Is it over?",
        ["no", "yes"],
    )
    assert (last.readout.order, last.readout.preamble) == ("average", "marginal")


def test_255_options_are_pasted_and_sorted_and_a_long_state_is_cut_in_the_panel_alone(
    page: Page, served: Served
) -> None:
    page.get_by_label("State", exact=True).fill("word " * 20_000)
    for _ in range(2):
        page.get_by_role("button", name="Remove option 1").click()
    page.get_by_label("Id of option 1").fill("")
    page.get_by_label("Option 1, what the model reads").fill("")
    page.evaluate("lines => navigator.clipboard.writeText(lines)", "\n".join(f"o{n}: Option {n}." for n in range(255)))
    page.get_by_label("Id of option 1").focus()
    page.keyboard.press("Control+V")
    expect(page.locator(".option")).to_have_count(255)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".bars li")).to_have_count(255)
    [decision] = served.scorer.asked
    assert [(one.id, one.description) for one in decision.options] == [(f"o{n}", f"Option {n}.") for n in range(255)]
    page.get_by_role("button", name="Likeliest first").click()
    expect(page.get_by_role("button", name="Likeliest first")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("tabpanel")).to_contain_text("characters more; Copy takes them all")
    assert json.loads(text_of(page, "Request"))["decision"]["state"] == "word " * 20_000
