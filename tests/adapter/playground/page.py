"""What the tests of the playground do with its page, and the application that they do it on."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playwright.sync_api import Page, expect
from werkzeug.serving import BaseWSGIServer, make_server

from decision_adapter.decision import Decision
from decision_adapter.scorer import WARM_UP, Scores
from tests.adapter.obedient import Obedient, app_of
from tests.browser import PATIENCE_MILLISECONDS

NASTY = "<img src=x onerror=alert(1)> ' \" \\ `id` $HOME !x %s\n</script>\tJSON\nJSON\n日本 🎈 \u2028 end"
"""Text that would be something else in HTML, in a shell, in a here-document, in Python or in a format."""

REST = {
    "input_tokens": 7,
    "full_vocab_argmax_id": 0,
    "full_vocab_argmax_is_option": True,
    "readout": "next-token-logits",
    "forward_seconds": 0.0,
    "total_seconds": 0.0,
    "probability_status": "uncalibrated",
    "model": {"gguf": {"file": "tiny.gguf", "sha256": "0" * 64, "bytes": 1}},
}
"""What a client reads beside what an obedient scorer tells."""
TIMING = dict.fromkeys(
    ("batch_size", "prefix_tokens", "encode_seconds", "prefill_seconds", "suffix_forward_seconds", "total_seconds"), 1
)


class Held(Obedient):
    """Answers when it is let go, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__({})
        self.let_go = threading.Event()
        self.let_go.set()
        self.asked: list[Decision] = []

    def score(
        self,
        decisions: Sequence[Decision],
        still_wanted: Callable[[], bool] = lambda: True,
        started: float | None = None,
    ) -> Scores:
        if decisions[0] is not WARM_UP:
            assert self.let_go.wait(PATIENCE_MILLISECONDS / 1000)
            self.asked += decisions
        scores = super().score(decisions, still_wanted, started)
        return Scores([one | self._rest(one) for one in scores.results], TIMING, scores.usage)

    def _rest(self, result: Mapping[str, Any]) -> dict[str, object]:
        return REST | {"answer_token_ids": list(range(len(result["option_ids"])))}


class Served:
    """The application with its playground, on a port of this machine."""

    def __init__(self, port: int = 0, **environment: str) -> None:
        self.scorer = Held()
        app = app_of(lambda: self.scorer, **{"SEMIF_PLAYGROUND": "1", "SEMIF_MAX_BODY_BYTES": "200000"} | environment)
        self._server: BaseWSGIServer = make_server("127.0.0.1", port, app, threaded=True)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.scorer.let_go.set()
        self._server.shutdown()
        self._server.server_close()


def score(page: Page) -> None:
    page.get_by_role("button", name="Score").click()


def load(page: Page, example: str) -> None:
    page.get_by_label("Load an example").select_option(label=example)


def status(page: Page) -> Any:
    return expect(page.get_by_role("status"))


def text_of(page: Page, tab: str) -> str:
    """What is copied of a tab."""
    page.get_by_role("tab", name=tab).click()
    expect(page.locator("#copy")).to_have_text("Copy")
    page.locator("#copy").click()
    expect(page.locator("#copy")).to_have_text("Copied")
    copied: str = page.evaluate("navigator.clipboard.readText()")
    return copied
