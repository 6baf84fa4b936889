"""Ten thousand bodies, most of them wrong, against the real adapter: none breaks it, costs memory, or holds up others.

A failure prints the seed and the number of its case: ``BAD_INPUT_SEED=… BAD_INPUT_CASES=number-number`` sends it again.
"""

import http.client
import itertools
import json
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from decision_adapter.contracts.openai_answer import OpenAIError
from decision_adapter.contracts.system_one_schema import SystemOneError, ValidationProblems
from tests.adapter.bad_input import BOMBS, LIMIT_BYTES, ONE, VALID, Case, case
from tests.adapter.raw_http import PATIENCE_SECONDS, POST, Answer, answers, chunked, invocation
from tests.tiny_models import write_tiny_model

SEED = os.environ.get("BAD_INPUT_SEED", "1")
FIRST, LAST = map(int, os.environ.get("BAD_INPUT_CASES", "0-9999").split("-"))
SENDERS = 4
SLOW_SENDERS = 6
RAW = ("wrong length", "malformed chunks", "pipelined")
PLATFORM_LIMIT_SECONDS = 2.0
EXTRA_MEMORY_BYTES = 50_000_000


def semif_error(answer: dict[str, Any]) -> bool:
    """Whether it is an error in SemIf's shape, which also tells what is wrong before a contract is known."""
    return isinstance(answer.get("error"), str) and answer.keys() <= {"error", "retryable"}


def fits(kind: type[BaseModel]) -> Callable[[dict[str, Any]], bool]:
    """Whether an answer is a ``kind`` and nothing more."""

    def is_one(answer: dict[str, Any]) -> bool:
        try:
            return kind.model_validate(answer).model_dump() == answer
        except ValidationError:
            return False

    return is_one


system_one_errors = (fits(ValidationProblems), fits(SystemOneError))
openai_error = fits(OpenAIError)

ROUTES: dict[str, dict[str, tuple[Callable[[dict[str, Any]], bool], ...]]] = {
    "semif": {"/invocations": (semif_error,)},
    "system_one": {"/v1/systemone": system_one_errors, "/invocations": (semif_error, *system_one_errors)},
    "openai": {"/v1/decisions": (openai_error,), "/invocations": (semif_error, openai_error)},
}
"""For each contract, the routes it has, and the shapes in which an error may be told there."""


@pytest.fixture(scope="module")
def tiny(start_container: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A container whose model scores in milliseconds, with more places than there are senders, that keeps no states."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_model(folder / "tiny.gguf", "attention")
    settings = {"SEMIF_MAX_IN_FLIGHT": "8", "SEMIF_CACHE_TOKENS": "0"}
    container = start_container(folder, **settings).wait_until_ready()
    yield container
    assert container.process.poll() is None, f"it ended: {container.log()[-5000:]}"


class Memory:
    """Resident memory of the process that answers."""

    def __init__(self, container: Any) -> None:
        main = container.process.pid
        [worker] = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        self._folder = Path("/proc") / worker

    def now(self) -> int:
        """Bytes."""
        return self._bytes("VmRSS:")

    def most(self) -> int:
        """Bytes at most since the last ``start``."""
        return self._bytes("VmHWM:")

    def start(self) -> None:
        """Forget the most so far; see proc(5), clear_refs."""
        (self._folder / "clear_refs").write_text("5")

    def _bytes(self, name: str) -> int:
        lines = (self._folder / "status").read_text().splitlines()
        [kilobytes] = [line.split()[1] for line in lines if line.startswith(name)]
        return int(kilobytes) * 1024


class Sender:
    """Sends cases one after the other, on one connection as long as the server keeps it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: http.client.HTTPConnection | None = None

    def send(self, sent: Case, path: str) -> list[Answer]:
        """What is answered."""
        headers = [f"Content-Encoding: {sent.encoding}".encode()] if sent.encoding else []
        whole = invocation(sent.body, *headers)
        if sent.wire == "wrong length":
            wrong = POST + b"Content-Length: %d\r\n\r\n" % (len(sent.body) + (7 if sent.number % 2 else -7))
            return answers(self._port, wrong + sent.body, then_end=True)
        if sent.wire == "malformed chunks":
            return answers(self._port, chunked(b"%x\r\n%sx" % (len(sent.body), sent.body)), then_end=True)
        if sent.wire == "pipelined":
            return answers(self._port, whole * 3, then_end=True)
        kinds = {"Content-Type": sent.content_type} | ({"Content-Encoding": sent.encoding} if sent.encoding else {})
        return [self._post(path, pieces(sent.body) if sent.wire == "chunked" else sent.body, kinds)]

    def _post(self, path: str, body: Any, headers: dict[str, str]) -> Answer:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_SECONDS)
        self._connection.request("POST", path, body, headers)
        response = self._connection.getresponse()
        answer = Answer(response.status, response.read(), {k.lower(): v for k, v in response.getheaders()})
        if answer.closes:
            self.close()
        return answer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def pieces(body: bytes) -> Iterator[bytes]:
    """``body`` in chunks of growing sizes."""
    sizes = itertools.accumulate(range(1, 2000), lambda size, step: size + 40 * step)
    start = 0
    for end in sizes:
        if start < len(body):
            yield body[start:end]
        start = end


def complaint(answer: Answer, shapes: tuple[Callable[[dict[str, Any]], bool], ...]) -> str | None:
    """What is wrong with ``answer``; nothing, for a score, and for an error that is the sender's and well told."""
    if answer.status == 200:
        return None
    try:
        told = json.loads(answer.text)
    except ValueError:
        return "not JSON"
    if answer.status in (503, 504):  # busy; what overran
        return None if told.get("retryable") is (answer.status == 503) else "not told whether to retry"
    if not 400 <= answer.status < 500:
        return "not the sender's fault"
    return None if any(shape(told) for shape in shapes) else "not in the contract's shape"


def run(sender: Sender, numbers: range, found: Counter[int], wrong: list[str]) -> None:
    """Send the cases of these numbers; count statuses and gather what is wrong."""
    for number in numbers:
        sent = case(SEED, number)
        routes = ROUTES[sent.contract]
        # what is not HTTP as it should be never gets as far as a route of its own
        path = "/invocations" if sent.wire in RAW else list(routes)[number % len(routes)]
        try:
            told = sender.send(sent, path)
        except (OSError, http.client.HTTPException) as error:
            wrong.append(f"seed {SEED}, {sent}: no answer: {error!r}")
            sender.close()
            continue
        if not told:
            wrong.append(f"seed {SEED}, {sent}: no answer")
        for answer in told:
            found[answer.status] += 1
            problem = complaint(answer, routes[path])
            if problem:
                wrong.append(f"seed {SEED}, {sent}: {problem}: {answer.status} {answer.text[:300]!r}")
    sender.close()


@contextmanager
def slow_senders(port: int) -> Iterator[None]:
    """Clients that send a byte of a body now and then, and come again when they are told off."""
    over = threading.Event()

    def send_slowly() -> None:
        while not over.is_set():
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as client:
                client.sendall(POST + b"Content-Length: 100000\r\n\r\n")
                try:
                    while not over.wait(0.1):
                        client.sendall(b"{")
                except OSError:  # told off
                    pass

    with ThreadPoolExecutor(SLOW_SENDERS) as pool:
        sending = [pool.submit(send_slowly) for _ in range(SLOW_SENDERS)]
        try:
            yield
        finally:
            over.set()
    for future in sending:
        future.result()


@contextmanager
def health_checks(port: int) -> Iterator[list[float]]:
    """The seconds that each of many health checks took, meanwhile; one that takes too long is an error."""
    over, seconds = threading.Event(), list[float]()

    def check() -> None:
        while not over.wait(0.05):
            started = time.perf_counter()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PLATFORM_LIMIT_SECONDS)
            connection.request("GET", "/ping")
            assert connection.getresponse().status == 200
            connection.close()
            seconds.append(time.perf_counter() - started)

    with ThreadPoolExecutor(1) as pool:
        checking = pool.submit(check)
        try:
            yield seconds
        finally:
            over.set()
    checking.result()


def test_ten_thousand_bodies_are_answered_and_hurt_nobody(tiny: Any) -> None:
    # given a container that has answered every valid body once
    for body in itertools.chain(*VALID.values()):
        assert tiny.score(body)[0] in (200, 400, 422)  # the tiny vocabulary has no labels for more than 16 options
    memory = Memory(tiny)
    memory.start()
    before = memory.now()
    # when the bodies come from several clients, while others are slow
    found, wrong = Counter[int](), list[str]()
    with health_checks(tiny.port) as seconds, slow_senders(tiny.port), ThreadPoolExecutor(SENDERS) as pool:
        shares = [range(FIRST + first, LAST + 1, SENDERS) for first in range(SENDERS)]
        for future in [pool.submit(run, Sender(tiny.port), share, found, wrong) for share in shares]:
            future.result()
    # then each is answered, none as a failure of the server's
    extra = memory.most() - before
    seconds.sort()
    p99 = seconds[-1 - len(seconds) // 100]
    print(
        f"answers {dict(sorted(found.items()))}; {extra / 1e6:.0f} MB more, {(memory.now() - before) / 1e6:.0f} MB kept"
    )
    print(f"/ping, {len(seconds)} times: p99 {p99:.3f} s, at most {seconds[-1]:.3f} s")
    assert not wrong, "\n".join([f"{len(wrong)} of {LAST + 1 - FIRST} are wrong:", *wrong[:5]])
    assert found[503] + found[504] <= sum(found.values()) / 100
    assert {200, 400, 413, 415} <= found.keys() or LAST - FIRST < 1000
    # and costs little memory, and no health check its time
    assert extra <= EXTRA_MEMORY_BYTES
    assert seconds[-1] < PLATFORM_LIMIT_SECONDS
    # and the container is as it was
    assert tiny.score(VALID["semif"][0])[0] == 200
    assert not [line for line in tiny.log().splitlines() if json.loads(line)["level"] in ("error", "critical")]


@pytest.mark.parametrize("piece", [b"[]", b"9"])
def test_as_many_of_the_largest_bodies_as_threads_cost_little_memory_together(tiny: Any, piece: bytes) -> None:
    # given a decision over as many values as a body can hold
    frame = json.dumps({"decision": {**ONE, "state": "@"}}).encode()
    count = (LIMIT_BYTES - len(frame)) // (len(piece) + 1)
    body = frame.replace(b'"@"', b"[" + b",".join([piece] * count) + b"]")
    memory = Memory(tiny)
    memory.start()
    before = memory.now()
    # when every thread has one
    threads = 8 + 16
    with ThreadPoolExecutor(threads) as pool:
        sent = [
            pool.submit(tiny.request, "POST", "/invocations", body, Content_Type="application/json")
            for _ in range(threads)
        ]
        answered = [future.result() for future in sent]
    # then
    print(f"{(memory.most() - before) / 1e6:.0f} MB more")
    assert [status for status, _ in answered] == [413] * threads
    assert all("tokens or more in state alone" in answer["error"] for _, answer in answered)
    assert memory.most() - before <= EXTRA_MEMORY_BYTES


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_a_bomb_of_fifty_megabytes_costs_a_hundredth_of_that(tiny: Any, encoding: str) -> None:
    memory = Memory(tiny)
    memory.start()
    before = memory.now()
    [bomb] = [bomb for bomb in BOMBS if bomb.startswith(b"\x28\xb5" if encoding == "zstd" else b"\x1f\x8b")]
    for _ in range(20):
        status, answer = tiny.request(
            "POST", "/invocations", bomb, Content_Type="application/json", Content_Encoding=encoding
        )
        assert (status, answer["error"][:42]) == (413, "body: more than 262144 bytes when decompre")
    assert memory.most() - before < 2_000_000


def test_a_case_is_made_from_its_seed_and_number_alone() -> None:
    assert [case("7", number) for number in (3, 4)] == [case("7", 3), case("7", 4)]
    assert case("7", 3) != case("8", 3)
