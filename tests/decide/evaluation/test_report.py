"""The report: one file, nothing from a network, and the numbers that the rows have."""

import re
from html.parser import HTMLParser

import pytest

from decide.evaluation import report, summary, wording
from decide.evaluation.comparison import compare
from decide.evaluation.row import Row
from decide.evaluation.saved_run import SavedRun
from decide.evaluation.wording import Shown
from decision_client import ModelIdentity, Policy
from tests.decide.evaluation.rows import header, row

RIGHT, SURE, WRONG = (0.8, 0.1, 0.1), (0.96, 0.02, 0.02), (0.05, 0.9, 0.05)
MODEL = ModelIdentity.model_validate({"gguf": {"file": "m.gguf", "sha256": "b1" * 32, "bytes": 7}})
LOADING = ("src", "srcset", "href", "data", "action", "formaction", "poster", "background", "ping", "manifest")


def shown(name: str, rows: list[Row], model: ModelIdentity | None = MODEL) -> Shown:
    run = SavedRun(header=header(), model=model, rows=tuple(rows), size_bytes=0)
    return Shown(name, run, summary.evaluate(rows, Policy("x")))


A = [row(1, SURE, first=True), row(2, RIGHT), row(3, WRONG), row(4, None), row(5, RIGHT, "sales", family="mail")]
B = [row(1, RIGHT), row(2, WRONG), row(3, WRONG), row(4, RIGHT), row(5, RIGHT, "sales", family="mail")]
PAGES = {
    "one": lambda: report.render([shown("A", A)]),
    "two": lambda: report.render([shown("A", A), shown("B", B)], compare(A, B)),
    "nothing answered": lambda: report.render([shown("A", [row(1, None)], None)]),
    "all right": lambda: report.render([shown("A", [row(1, SURE)])]),
}


class Loads(HTMLParser):
    """Collects what a page would load, and the elements it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.elements: list[str] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        for name, value in attrs:
            if name.rpartition(":")[2] in LOADING:
                self.loaded.append(value or "")
            if name == "id":
                self.ids.append(value or "")


@pytest.mark.parametrize("kind", PAGES)
def test_it_loads_nothing(kind: str) -> None:
    page = PAGES[kind]()
    found = Loads(page)
    assert all(target.startswith("#") for target in found.loaded)
    assert not {"script", "link", "iframe", "img", "image", "object", "embed", "base"} & set(found.elements)
    assert all(url.startswith("#") for url in re.findall(r"url\(\s*['\"]?([^)]*)", page))
    assert "@import" not in page
    assert "default-src 'none'" in page
    assert "://" not in page.replace(header().endpoint, "")


@pytest.mark.parametrize("kind", PAGES)
def test_every_reference_has_its_element_and_no_id_is_there_twice(kind: str) -> None:
    page = PAGES[kind]()
    found = Loads(page)
    assert len(set(found.ids)) == len(found.ids)
    assert {target[1:] for target in found.loaded} | set(re.findall(r"url\(#([^)]*)\)", page)) <= set(found.ids)


def test_plots_take_the_page_s_colours_and_font() -> None:
    svg = "".join(re.findall(r"<svg.*?</svg>", PAGES["two"](), re.DOTALL))
    assert svg.count("<svg") == 3
    assert not re.findall(r"#[0-9a-f]{6}\b", svg)
    assert "DejaVu" not in svg
    assert {"--ink", "--muted", "--grid", "--first", "--second"} >= set(re.findall(r"var\((--\w+)\)", svg)) - {"--font"}


def test_the_same_run_gives_the_same_bytes() -> None:
    assert PAGES["two"]() == PAGES["two"]()


def test_the_numbers_of_the_run_are_there() -> None:
    page = PAGES["one"]()
    assert "40.0%" in page  # rows 1 and 2 of 5
    assert "4 of 5" in page
    assert "b1" * 32 in page
    assert "TooLargeError: too many tokens" in page
    assert page.index("d-3 · queue") < page.index("d-5 · mail")  # the surer wrong answer comes first


def test_two_runs_are_compared_in_words() -> None:
    page = PAGES["two"]()
    assert "Which of the two is right more often, these 5 rows cannot tell" in page
    rows = [row(number, RIGHT) for number in range(10)]
    told = wording.verdict(compare(rows, [row(number, WRONG) for number in range(10)]))
    assert told.startswith("A is right more often, and by more than chance explains (McNemar p = 0.002)")
    assert "A's probabilities are better: its log loss is lower by 2.773" in told  # ln(0.8 / 0.05)


def test_what_others_wrote_is_text() -> None:
    evil = "<script>alert(1)</script>"
    fields = {"names": (evil, "b"), "label": "b", "state": evil, "question": evil, "family": evil, "id": evil}
    page = report.render([shown("A", [row(1, (0.9, 0.1)).model_copy(update=fields)])])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5


def test_names_of_one_set_share_a_matrix_and_missing_answers_have_a_column() -> None:
    [matrix] = report.confusions(A)
    assert (matrix.families, matrix.columns) == ("queue, mail", ["account", "billing", "sales", "no answer"])
    assert matrix.counts == [[2, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
