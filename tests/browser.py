"""A headless browser for the tests of pages, each of which has to keep to its own server and to write no error."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
PATIENCE_MILLISECONDS = 60_000
REFUSED = "Failed to load resource"
"""What Chromium writes about each answer that is an error, or that did not come."""

OpenPage = Callable[..., Page]


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or Chrome."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, "these tests need a browser: apt-get install chromium"
    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=QUIET, chromium_sandbox=False, timeout=PATIENCE_MILLISECONDS
        )
        yield started
        started.close()


@contextmanager
def pages(browser: Browser) -> Iterator[OpenPage]:
    """Open pages, each with a memory of its own; at the end none may have asked elsewhere or written an error."""
    faults: list[str] = []

    def open_page(url: str, **settings: Any) -> Page:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **settings)
        context.set_default_timeout(PATIENCE_MILLISECONDS)
        page = context.new_page()

        def listen(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and REFUSED not in message.text:
                faults.append(message.text)

        page.on("console", listen)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(url) else faults.append(request.url))
        page.goto(url)
        return page

    yield open_page
    for context in browser.contexts:
        context.close()
    assert not faults
