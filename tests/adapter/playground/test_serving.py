"""How the playground is served, and that it is not where nobody asked for it."""

import re

import pytest
from flask.testing import FlaskClient

from decision_adapter import metrics, playground
from tests.adapter.obedient import Obedient, client_of

KEY = "k" * 20
DECISION = {
    "id": "d",
    "state": "s",
    "question": "q",
    "options": [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}],
}


def client(**environment: str) -> FlaskClient:
    scorer = Obedient({})
    return client_of(lambda: scorer, **environment)


@pytest.mark.parametrize("path", ["/", "/playground/main.js", "/playground/endpoint.json"])
def test_without_the_setting_there_is_no_page(path: str) -> None:
    for served in (client(), client(SEMIF_PLAYGROUND="0")):
        assert served.get(path).status_code == 404
    assert client(SEMIF_API_KEY=KEY).get(path).status_code == 401


def test_every_file_that_the_page_names_is_served_and_may_do_nothing_elsewhere() -> None:
    served = client(SEMIF_PLAYGROUND="1")
    page = served.get("/")
    assert page.content_type == "text/html; charset=utf-8"
    # given what the page names, and what its modules import
    named = set(re.findall(r'(?:href|src)="([^"]+)"', page.text))
    names = set(playground.files(needs_key=False)) - {"/", "/playground/endpoint.json"}
    imported = {
        f"playground/{name}" for path in names for name in re.findall(r'from "\./([^"]+)"', served.get(path).text)
    }
    # then that is all there is, and it comes with what keeps a page to itself
    assert {f"/{path}" for path in named | imported} == names
    for path in ("/", *names):
        answer = served.get(path)
        assert answer.status_code == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|style=\"", answer.text)
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", answer.text)


def test_the_page_needs_no_key_and_what_it_sends_does() -> None:
    served = client(SEMIF_PLAYGROUND="1", SEMIF_API_KEY=KEY)
    for path in playground.files(needs_key=True):
        assert served.get(path).status_code == 200
    told = served.get("/playground/endpoint.json")
    assert told.get_json() == {"needs_key": True, "name": None, "client": None}
    assert KEY not in told.text
    assert served.post("/invocations", json={"decision": DECISION}).status_code == 401
    assert served.get("/playground/other.js").status_code == 401


def test_looking_at_the_page_is_not_counted_as_a_request() -> None:
    served = client(SEMIF_PLAYGROUND="1")
    before = metrics.text()
    for path in playground.files(needs_key=False):
        served.get(path)
    assert [line for line in metrics.text().splitlines() if b"decision_requests" in line] == [
        line for line in before.splitlines() if b"decision_requests" in line
    ]


def test_the_page_can_only_be_read() -> None:
    served = client(SEMIF_PLAYGROUND="1")
    assert served.post("/").status_code == 405
    assert served.head("/").status_code == 200
    assert served.get("/playground/../settings.py").status_code == 404
