"""`decide benchmark`, as a process."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.client.http_server import Reply, serve
from tests.decide.command import PATIENCE_SECONDS, decide, environment
from tests.decide.decision_server import decision_server

SMALL = ("--callers", "1,2", "--words", "5,30", "--requests", "4", "--warm-up", "1", "--wait", "600")


def test_a_run_has_figures_for_each_level_and_a_row_for_each_endpoint(url: str, tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    with decision_server() as other:
        prices = ("--hourly-price", f"{url}=0.5", "--hourly-price", f"{other.url}=2")
        told = decide("benchmark", "--url", url, "--url", other.url, *SMALL, *prices, "--output", str(run))
    assert told.status == 0, told.err
    written = json.loads(run.read_text())
    ours, theirs = written["endpoints"]
    assert [(one["state_words"], one["callers"], one["requests"]) for one in ours["levels"]] == [
        (5, 1, 4),
        (5, 2, 4),
        (30, 1, 4),
        (30, 2, 4),
    ]
    assert ours["levels"][2]["input_tokens"] > ours["levels"][0]["input_tokens"]
    for level in ours["levels"]:
        assert 0 < level["forward_p50_seconds"] <= level["total_p50_seconds"] <= level["p50_seconds"]
        assert level["p50_seconds"] <= level["p90_seconds"] <= level["p99_seconds"]
    assert ours["model"]["gguf"]["file"] == "tiny.gguf"
    assert ours["cost_per_thousand"] > 0
    assert ours["first_seconds"] > 0
    assert theirs["name"] == other.url
    for part in ("p99 ms", "cost per 1,000", "threads: cannot be told", f"first request to {url}"):
        assert part in told.out
    assert len(other.asked) == 1 + 4 * (1 + 4)


def test_json_is_the_run(url: str) -> None:
    told = decide(
        "benchmark", "--url", url, "--callers", "1", "--words", "5", "--requests", "2", "--json", "--same-state"
    )
    assert told.status == 0, told.err
    assert told.json["plan"]["same_state"] is True
    assert len(told.json["endpoints"][0]["levels"]) == 1


def test_a_narrow_terminal_cuts_no_number(url: str) -> None:
    told = decide("benchmark", "--url", url, "--callers", "1", "--words", "5", "--requests", "2", COLUMNS="80")
    assert "…" not in told.out


def test_ctrl_c_shows_and_writes_the_levels_that_were_measured(tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    levels = ("--callers", "1,2", "--words", "5", "--requests", "2", "--warm-up", "0", "--output", str(run))
    with decision_server() as server:
        # given that the second level is under way: a first request and two of the first level came before it
        server.hold_from = 3
        process = subprocess.Popen(
            [sys.executable, "-m", "decide", "benchmark", "--url", server.url, *levels],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert server.holds.acquire(timeout=PATIENCE_SECONDS)
        # when
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert b"Ctrl-C again" in process.stderr.readline()
        server.go_on.set()
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    # then
    assert (process.returncode, b"Traceback" in err) == (130, False), err
    assert b"p99 ms" in out
    assert [one["callers"] for one in json.loads(run.read_text())["endpoints"][0]["levels"]] == [1]


def test_what_cannot_be_is_told(url: str) -> None:
    dead = ("--url", "http://127.0.0.1:9")
    for wrong in (
        ("--callers", "0"),
        ("--words", "x"),
        ("--callers", "1,"),
        ("--hourly-price", "x"),
        ("--region", "x", "--api-key", "k"),
    ):
        assert decide("benchmark", *dead, *wrong).status in (2, 4), wrong
    assert decide("benchmark").status == 2
    assert decide("benchmark", *dead).status == 4
    with serve(Reply(503, b'{"error": "busy"}')) as busy:
        assert decide("benchmark", "--url", busy.url, "--wait", "0").status == 7
    told = decide(
        "benchmark", "--url", url, "--callers", "1", "--words", "5", "--requests", "1", "-o", "/no/where.json"
    )
    assert told.status == 3
