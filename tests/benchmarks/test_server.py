"""Clients against a server that refuses, fails and hangs up, over real sockets."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.http_client import free_port, running
from benchmarks.llama_server import LlamaServerSide, llama_server
from benchmarks.server import ask
from benchmarks.workloads import Desk
from decision_adapter.prompt import Scaffold
from decision_adapter.settings import Settings

Answer = Callable[[int, Any], tuple[int, Any] | None]


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[int, list[Any]]]:
    """A server that says what ``answer`` gives for the number of the request and its body; None hangs up."""
    bodies: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = answer(len(bodies), bodies[-1])
            if said is None:
                self.close_connection = True
                return
            data = json.dumps(said[1]).encode()
            self.send_response(said[0])
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Retry-After", "0.01")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port, bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def scored(body: Any) -> tuple[int, Any]:
    timing = {"encode_seconds": 0.5, "prefill_seconds": 2.0, "suffix_forward_seconds": 1.0}
    return 200, {"results": [{"id": decision["id"]} for decision in body["decisions"]], "timing": timing}


def test_a_refused_decision_is_sent_again_until_it_is_answered() -> None:
    with serving(lambda count, body: scored(body) if count > 2 else (503, {"retryable": True})) as (port, bodies):
        tally = ask(port, Desk(1), 130, until=0.0)
    assert (len(tally.seconds), tally.refused, tally.lost) == (1, 2, [])
    assert tally.engine_seconds == [3.5]
    assert bodies[0] == bodies[1] == bodies[2]


def test_each_decision_is_new() -> None:
    with serving(lambda _, body: scored(body)) as (port, bodies):
        ask(port, Desk(1), 130, until=0.0, at_least=3)
    assert len({body["decisions"][0]["state"] for body in bodies}) == 3


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (None, "RemoteDisconnected"),
        ((500, {"error": "scoring failed"}), "status 500"),
        ((200, {"results": [{"id": "case-0"}], "timing": {}}), "another's answer"),
    ],
)
def test_a_decision_without_its_answer_is_lost_and_the_client_goes_on(failure: Any, reason: str) -> None:
    with serving(lambda count, body: failure if count == 1 else scored(body)) as (port, _):
        tally = ask(port, Desk(1), 130, until=0.0, at_least=2)
    assert len(tally.seconds) == 1
    [lost] = tally.lost
    assert lost.startswith("case-1: ")
    assert reason in lost


def test_a_server_that_ends_at_start_is_quoted(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo reading; echo no such model; exit 3"]
    with (
        pytest.raises(BenchmarkError, match="exit status 3, its last line is: no such model"),
        running(command, {}, free_port(), "/ping", tmp_path / "log"),
    ):
        pass


def test_llama_server_is_asked_for_one_token_of_the_whole_prompt() -> None:
    desk = Desk(1)
    decisions = [desk.decision("the state") for _ in range(2)]
    with (
        serving(lambda _count, _body: (200, {})) as (port, bodies),
        closing(LlamaServerSide(port, Scaffold("<s>", "</s>"))) as side,
    ):
        answer = side.score(decisions)
    assert answer.seconds > 0
    for body, decision in zip(bodies, decisions, strict=True):
        assert body["prompt"].startswith('<s>{"evidence": "the state", "criterion": "' + decision.question)
        assert body["prompt"].endswith("}</s>")
        assert (body["n_predict"], body["cache_prompt"]) == (1, True)


STAND_IN = """#!{python}
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{{}}")

arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert (arguments["--parallel"], arguments["--threads"], arguments["--n-gpu-layers"]) == ("1", "3", "0")
HTTPServer((arguments["--host"], int(arguments["--port"])), Handler).serve_forever()
"""


def test_llama_server_on_the_path_is_run_with_our_threads_and_one_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a program of that name that answers as it does
    program = tmp_path / "llama-server"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    # then it is started, waited for, and asked
    settings = Settings.from_environment({"SEMIF_THREADS": "3", "SEMIF_GGUF_PATH": str(program)})
    with llama_server(settings, Scaffold("", ""), tmp_path) as side:
        assert side is not None
        assert side.score([Desk(1).decision("s")]).seconds > 0


def test_without_llama_server_there_is_nothing_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with llama_server(Settings.from_environment({}), Scaffold("", ""), tmp_path) as side:
        assert side is None
