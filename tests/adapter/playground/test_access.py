"""The page without a mouse, in the dark, on a small screen."""

from playwright.sync_api import Page, expect

from tests.adapter.playground.page import Served, status
from tests.browser import OpenPage

NARROW = {"width": 360, "height": 740}


def test_everything_can_be_done_with_the_keyboard(page: Page, served: Served) -> None:
    def tab_to(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            focused = page.locator(":focus")
            assert focused.evaluate("it => getComputedStyle(it).outlineStyle") == "solid"
            if focused.get_attribute("id") == name or focused.get_attribute("name") == name:
                return
        raise AssertionError(f"{name} is not reached")

    tab_to("state")
    page.keyboard.press("Control+A")
    page.keyboard.type("The parcel is late.")
    tab_to("option-id")
    page.keyboard.press("Enter")  # one more, after this
    page.keyboard.type("parcel")
    page.keyboard.press("Tab")
    page.keyboard.type("Parcels.")
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")  # which is empty, and goes
    expect(page.locator(":focus")).to_have_value("Parcels.")
    page.keyboard.press("Control+Enter")
    status(page).to_contain_text("Answered in")
    [decision] = served.scorer.asked
    assert decision.state == "The parcel is late."
    assert [option.id for option in decision.options] == ["account", "parcel", "billing", "sales"]
    tab_to("tab-request")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Answer", selected=True)).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Answer")).to_contain_text('"option_ids"')


def test_it_is_dark_or_light_as_the_system_is_or_as_was_chosen(open_page: OpenPage, served: Served) -> None:
    def page_colour(page: Page) -> str:
        colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return colour

    light, dark = (open_page(served.url, color_scheme=scheme) for scheme in ("light", "dark"))
    colours = {page_colour(light), page_colour(dark)}
    assert len(colours) == 2
    # when dark is chosen where the system is light, it stays so
    light.get_by_role("button", name="Colours").click()
    light.reload()
    assert page_colour(light) == page_colour(dark)
    light.get_by_role("button", name="Colours").click()
    assert {page_colour(light), page_colour(dark)} == colours


def test_a_narrow_screen_needs_no_sideways_scrolling(open_page: OpenPage, served: Served) -> None:
    page = open_page(served.url, viewport=NARROW)
    page.get_by_label("Id of option 1").fill("a" * 200)
    page.get_by_label("Question", exact=True).fill("b" * 300)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer strong")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    expect(page.locator("#answer strong")).to_be_in_viewport()
