"""Whatever the endpoint answers, or does not, the page says so and goes on."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from decision_adapter.errors import BusyError, DeadlineError
from tests.adapter.playground.page import Served, score, status


def test_a_busy_endpoint_is_asked_again_until_it_answers(page: Page, served: Served) -> None:
    served.scorer.failure = BusyError("busy: 1 request is in flight")
    score(page)
    status(page).to_contain_text("busy: 1 request is in flight. Asking again in")
    expect(page.get_by_role("alert")).to_be_hidden()
    served.scorer.failure = None
    status(page).to_contain_text("Answered in")
    expect(page.locator("#answer article")).to_have_count(1)


def test_waiting_for_a_busy_endpoint_can_be_cancelled(page: Page, served: Served) -> None:
    served.scorer.failure = BusyError("busy")
    score(page)
    status(page).to_contain_text("Asking again")
    page.keyboard.press("Escape")
    status(page).to_have_text("Cancelled.")
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.get_by_role("button", name="Score")).not_to_have_attribute("aria-disabled", "true")


def test_a_slow_answer_shows_how_long_it_takes_and_can_be_cancelled(page: Page, served: Served) -> None:
    served.scorer.let_go.clear()
    score(page)
    status(page).to_have_text("Scoring…")
    expect(page.locator("#elapsed")).to_contain_text(" s")
    page.keyboard.press("Control+Enter")  # which does nothing while one is under way
    page.get_by_role("button", name="Cancel").click()
    status(page).to_have_text("Cancelled.")
    expect(page.get_by_role("button", name="Score")).to_be_focused()
    # and then it can be asked again
    served.scorer.let_go.set()
    page.keyboard.press("Enter")
    status(page).to_contain_text("Answered in")


def test_an_answer_to_what_the_form_no_longer_says_is_marked(page: Page, served: Served) -> None:
    served.scorer.let_go.clear()
    score(page)
    page.get_by_label("State").fill("Another state.")
    served.scorer.let_go.set()
    expect(page.locator("#answer")).to_have_class("old")
    score(page)
    expect(page.locator("#answer")).to_have_class("")


def test_an_endpoint_that_is_gone_is_told_and_can_be_asked_again(
    page: Page, served: Served, serve: Callable[..., Served]
) -> None:
    served.stop()
    score(page)
    expect(page.get_by_role("alert")).to_contain_text("The endpoint cannot be reached.")
    serve(port=served.port)
    page.get_by_role("button", name="Try again").click()
    status(page).to_contain_text("Answered in")
    expect(page.get_by_role("alert")).to_be_hidden()


@pytest.mark.parametrize(
    ("failure", "told"), [(DeadlineError("took longer than 55 s"), "55 s"), (RuntimeError("inside"), "scoring failed")]
)
def test_a_failure_is_told_in_the_endpoints_words(page: Page, served: Served, failure: Exception, told: str) -> None:
    served.scorer.failure = failure
    score(page)
    expect(page.get_by_role("alert")).to_contain_text(told)
    status(page).to_have_text("Not scored.")


def test_what_is_no_decision_endpoint_is_said_to_be_none(page: Page) -> None:
    page.route("**/invocations", lambda route: route.fulfill(status=200, body="<b>hello</b>"))
    score(page)
    expect(page.get_by_role("alert")).to_contain_text("What answers is no decision endpoint: <b>hello</b>")
