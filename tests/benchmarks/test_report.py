"""What is written about a run."""

import json
from datetime import date
from pathlib import Path

import pytest

from benchmarks.measure import OURS, SERVER, THEIRS, Comparison, Decode, Sample, Spread
from benchmarks.report import Machine, Report, cpu_model
from benchmarks.rows import Row, Target, compared_row
from benchmarks.scaling import Limit, Point

MACHINE = Machine("Some CPU @ 2.0 GHz", 2, 8, "Linux x86_64, Python 3.11.7", 0.1)
REACHED = Row("fast", Target("quick work", 1.35), Spread(1.5, 1.4, 1.6), "how it was measured", llama_server=1.39)
LATE = Row("late", Target("slow work", 1.05, at_least=False), Spread(1.2, 1.1, 1.3), "how")


@pytest.fixture
def report() -> Report:
    identity = {
        "gguf": {"file": "m.gguf", "repo": None},
        "backends": ["CPU"],
        "tokenizer": {"repo": None},
        "threads": 2,
    }
    return Report(
        date(2026, 11, 30),
        MACHINE,
        identity,
        "AVX2 = 1",
        llama_server=True,
        rows=[REACHED, LATE],
        limits=[Limit("fast", 100, 240.0, 300.0, flash_attention=False)],
        curves=[("options of a question", [Point(2, 100, 0.5)])],
    )


@pytest.mark.parametrize(
    ("at_least", "value", "ok"),
    [(True, 2.0, True), (True, 2.01, True), (True, 1.99, False), (False, 2.0, True), (False, 2.01, False)],
)
def test_a_target_is_reached_at_its_value_and_beyond(at_least: bool, value: float, ok: bool) -> None:
    assert Row("r", Target("w", 2, at_least), Spread.of([value]), "").ok is ok


def test_a_row_that_lost_a_decision_is_missed_however_fast() -> None:
    assert not Row("r", Target("w", 0.95), Spread.of([1.0]), "", complete=False).ok


def test_a_row_says_what_was_measured() -> None:
    samples = [
        Sample({OURS: 0.5, THEIRS: 1.0, SERVER: 0.8}, [Decode(40, 90)], 1),
        Sample({OURS: 0.6, THEIRS: 0.9, SERVER: 0.9}, [Decode(40, 100)], 0),
    ]
    row = compared_row("new-short-state", Comparison(samples))
    assert row.reached == Spread(1.75, 1.625, 1.875)
    assert row.llama_server == pytest.approx(1.125)
    assert row.detail == (
        "prompts of 130 to 140 tokens, median of 2 pairs: ours 550 ms, reference 950 ms; same likeliest token in 1 of 2"
    )


def test_the_verdict_names_what_was_missed(report: Report) -> None:
    assert report.verdict() == "1 of 2 rows MISSED: late."
    report.rows.remove(LATE)
    assert report.verdict() == "All 1 rows reached."
    report.quick = True
    assert "its numbers mean nothing" in report.verdict()


def test_both_files_hold_the_tables(report: Report, tmp_path: Path) -> None:
    as_json, as_markdown = report.write(tmp_path / "new folder")
    assert (as_json.name, as_markdown.name) == (
        "2026-11-30-some-cpu-2-0-ghz-2-cores.json",
        "2026-11-30-some-cpu-2-0-ghz-2-cores.md",
    )
    found = json.loads(as_json.read_text())
    assert [(row["name"], row["reached"]["median"], row["ok"]) for row in found["rows"]] == [
        ("fast", 1.5, True),
        ("late", 1.2, False),
    ]
    text = as_markdown.read_text()
    assert "| fast | quick work | ≥ 1.35× | 1.50× | 1.40 to 1.60 | ok | 1.39× | how it was measured |" in text
    assert "| late | slow work | ≤ 1.05× | 1.20× | 1.10 to 1.30 | MISSED |  | how |" in text
    assert "| fast | 100 | 240 | 300 | 80% | off |" in text
    assert "| 2 | 100 | 0.500 | 5.00 |" in text
    # what is unknown is left out
    assert "- gguf: file m.gguf\n- backends: CPU\n- threads: 2\n" in text


def test_a_second_run_on_a_day_does_not_replace_the_first(report: Report, tmp_path: Path) -> None:
    first, second, third = (report.write(tmp_path)[0] for _ in range(3))
    assert second.stem == f"{first.stem}-2"
    assert third.stem == f"{first.stem}-3"


def test_the_cpu_is_named_as_the_kernel_names_it() -> None:
    assert cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2.0 GHz\n") == "Some CPU @ 2.0 GHz"
    assert cpu_model("processor\t: 0\nBogoMIPS\t: 243.75\n") != ""
