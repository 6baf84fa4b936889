"""The playground in a browser, on an application whose scorer does as it is told."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.adapter.playground.page import Served
from tests.browser import OpenPage, browser, pages


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    # not longer than a module: Playwright keeps an event loop running, which other tests could not start
    with browser() as started:
        yield started


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[OpenPage]:
    with pages(chromium) as opened:
        yield opened


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    with ExitStack() as stopping:

        def start(**settings: Any) -> Served:
            served = Served(**settings)
            stopping.callback(served.stop)
            return served

        yield start


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    return serve()


@pytest.fixture
def page(open_page: OpenPage, served: Served) -> Page:
    return open_page(served.url)
