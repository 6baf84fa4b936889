"""The adapter as it is deployed: what HTTP adds, what many clients at once get, how long a start takes."""

import http.client
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import decision_adapter
from benchmarks import bare_load
from benchmarks.errors import BenchmarkError
from benchmarks.http_client import ANSWER_SECONDS, Connection, free_port, running
from benchmarks.measure import Spread
from benchmarks.workloads import Desk, Scale
from decision_adapter.settings import Settings

SERVE = Path(decision_adapter.__file__).parents[1] / "serve"

BUSY_SECONDS = 0.5
"""Wait of a client that was told 503 without a time to retry after. Those who hammer take the CPU that scores."""


@dataclass
class Tally:
    """What one client, or all of them, got."""

    seconds: list[float] = field(default_factory=list)
    """The caller's time of each decision, waiting for a place included."""
    engine_seconds: list[float] = field(default_factory=list)
    """The same decision's encoding and decoding, by the answer's own timing."""
    refused: int = 0
    """Answers 503, each tried again."""
    lost: list[str] = field(default_factory=list)
    """Decisions that were never answered, and why."""

    def add(self, other: "Tally") -> None:
        """Count what ``other`` counted."""
        self.seconds += other.seconds
        self.engine_seconds += other.engine_seconds
        self.refused += other.refused
        self.lost += other.lost


@contextmanager
def adapter(settings: Settings, logs: Path, **environment: str) -> Iterator[tuple[int, float]]:
    """The adapter in a process: its port, and the seconds from start to ready."""
    port = free_port()
    paths = {"SEMIF_MODEL_DIR": str(settings.model_dir), "SEMIF_GGUF_PATH": str(settings.gguf_path)}
    place = {"SEMIF_HOST": "127.0.0.1", "SEMIF_PORT": str(port), "SEMIF_THREADS": str(settings.threads)}
    with running(
        [sys.executable, str(SERVE), "serve"],
        {**os.environ, **paths, **place, **environment},
        port,
        "/ping",
        logs / "adapter.log",
    ) as seconds:
        yield port, seconds


def ask(port: int, desk: Desk, tokens: int, until: float, at_least: int = 1) -> Tally:
    """One client: a new short state after the other, each until it is answered.

    Nothing new is asked after ``until`` (by ``time.perf_counter``) once ``at_least`` were.
    """
    tally, connection = Tally(), Connection(port)
    while time.perf_counter() < until or len(tally.seconds) + len(tally.lost) < at_least:
        decision = desk.decision(desk.state(tokens))
        started = time.perf_counter()
        try:
            answer = _until_answered(connection, {"decisions": [decision.model_dump()]}, tally)
        except (OSError, http.client.HTTPException, BenchmarkError) as error:
            tally.lost.append(f"{decision.id}: {error!r}")
            connection.close()
            continue
        if [result["id"] for result in answer["results"]] != [decision.id]:
            tally.lost.append(f"{decision.id}: another's answer")
            continue
        timing = answer["timing"]
        tally.seconds.append(time.perf_counter() - started)
        tally.engine_seconds.append(
            timing["encode_seconds"] + timing["prefill_seconds"] + timing["suffix_forward_seconds"]
        )
    connection.close()
    return tally


def _until_answered(connection: Connection, body: object, tally: Tally) -> Any:
    give_up = time.perf_counter() + ANSWER_SECONDS
    while time.perf_counter() < give_up:
        status, answer, retry_after_seconds = connection.post("/invocations", body)
        if status == 200:
            return answer
        if status != 503:
            raise BenchmarkError(f"status {status}: {answer}")
        tally.refused += 1
        time.sleep(retry_after_seconds or BUSY_SECONDS)
    raise BenchmarkError(f"no place in {ANSWER_SECONDS} s")


def http_overhead(settings: Settings, scale: Scale, logs: Path) -> tuple[Spread, str]:
    """The caller's time over the engine's own, of short decisions by one client, and a sentence with the times."""
    with adapter(settings, logs) as (port, _):
        tally = ask(port, Desk(6), scale.short_tokens, 0.0, at_least=2 * scale.short_repetitions)
    if tally.lost:
        raise BenchmarkError(f"{len(tally.lost)} decisions were not answered, first {tally.lost[0]}")
    p50, engine_p50 = statistics.median(tally.seconds), statistics.median(tally.engine_seconds)
    each = Spread.of([outer / inner for outer, inner in zip(tally.seconds, tally.engine_seconds, strict=True)])
    added = (p50 - engine_p50) * 1000
    detail = f"HTTP p50 {p50 * 1000:.1f} ms, engine p50 {engine_p50 * 1000:.1f} ms: {added:.1f} ms added"
    return Spread(p50 / engine_p50, each.low, each.high), detail


def many_clients(settings: Settings, scale: Scale, logs: Path) -> tuple[float, str, bool]:
    """Decisions a second of many clients over those of one, a sentence, and whether none was lost.

    One client is measured before and after, since machines get faster and slower by the minute. There are half as many
    places as clients, so that a part of the requests is refused and tried again.
    """
    places = max(1, scale.clients // 2)
    with adapter(settings, logs, SEMIF_MAX_IN_FLIGHT=str(places)) as (port, _):
        serial, together = Tally(), Tally()
        serial_seconds = _alone(port, scale, serial, seed=70)
        started = time.perf_counter()
        with ThreadPoolExecutor(scale.clients) as pool:
            clients = [
                pool.submit(ask, port, Desk(100 + index), scale.short_tokens, started + scale.client_seconds)
                for index in range(scale.clients)
            ]
        elapsed = time.perf_counter() - started
        for client in clients:
            together.add(client.result())
        serial_seconds += _alone(port, scale, serial, seed=71)
    if serial.lost or not together.seconds:
        raise BenchmarkError(f"decisions were not answered, first {(serial.lost + together.lost)[0]}")
    rate, serial_rate = len(together.seconds) / elapsed, len(serial.seconds) / serial_seconds
    p50, slowest = statistics.median(together.seconds), max(together.seconds)
    detail = (
        f"{rate:.2f}/s of {scale.clients} clients at {places} places, {serial_rate:.2f}/s of one; "
        f"{len(together.seconds)} answered, {together.refused} refusals tried again, {len(together.lost)} lost; "
        f"p50 {p50:.1f} s, slowest {slowest:.1f} s"
    )
    if together.lost:
        detail += f"; first lost: {together.lost[0]}"
    return rate / serial_rate, detail, not together.lost


def _alone(port: int, scale: Scale, tally: Tally, seed: int) -> float:
    """Let one client work for a while; how long it did."""
    started = time.perf_counter()
    tally.add(ask(port, Desk(seed), scale.short_tokens, started + scale.client_seconds / 4))
    return time.perf_counter() - started


def start(settings: Settings, scale: Scale, logs: Path) -> tuple[Spread, str]:
    """From process start to ready, over a fresh process that only loads the model and creates a context."""
    ratios, ready, fresh, bare = [], [], [], []
    for repetition in range(scale.starts + 1):
        with adapter(settings, logs) as (_, seconds):
            pass
        process_seconds, load_seconds = _bare(settings)
        if repetition:  # the first one brought the file into the page cache
            ready.append(seconds)
            fresh.append(process_seconds)
            bare.append(load_seconds)
            ratios.append(seconds / process_seconds)
    median = statistics.median
    detail = (
        f"ready after {median(ready):.2f} s; a fresh process that loads and creates only: {median(fresh):.2f} s, of "
        f"which {median(bare):.2f} s in llama.cpp ({median(ready) / median(bare):.1f}× of that alone)"
    )
    return Spread.of(ratios), detail


def _bare(settings: Settings) -> tuple[float, float]:
    """Seconds of the whole process until it is done, and of loading and creating in it."""
    arguments = [settings.gguf_path, settings.max_tokens, settings.threads, settings.n_gpu_layers]
    command = [sys.executable, bare_load.__file__, *map(str, arguments), str(settings.lib_dir or "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - started
    if process.returncode:
        raise BenchmarkError(f"the bare load failed with exit status {process.returncode}")
    return seconds, float(line)
