"""Resident memory after many decisions. ``make soak`` runs the same with fifty thousand."""

import http.client
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tiny_models import write_tiny_model

DECISIONS = int(os.environ.get("SOAK_DECISIONS", "3000"))
FIRST = int(os.environ.get("SOAK_FIRST", "300"))
"""After this many, everything that is allocated once has been, and the kept states fill their room."""


def test_memory_does_not_grow_with_the_number_of_decisions(start_container: Callable[..., Any], tmp_path: Path) -> None:
    # given a container with a tiny model and room for a few states
    write_tiny_model(tmp_path / "tiny.gguf", "attention")
    container = start_container(tmp_path, SEMIF_CACHE_TOKENS="8192", SEMIF_MAX_TOKENS="2048").wait_until_ready()
    connection = http.client.HTTPConnection("127.0.0.1", container.port, timeout=60)

    def resident_bytes() -> float:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        [line] = [line for line in lines if line.startswith("process_resident_memory_bytes ")]
        return float(line.split()[1])

    # when it scores many decisions, each over a state of its own
    first = 0.0
    for number in range(1, DECISIONS + 1):
        body = json.dumps({"decision": decision(number)})
        connection.request("POST", "/invocations", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.read()
        assert response.status == 200
        if number == FIRST:
            first = resident_bytes()
    last = resident_bytes()
    connection.close()
    # then it holds as much as after the first of them
    print(f"resident after {FIRST}: {first / 1e6:.1f} MB, after {DECISIONS}: {last / 1e6:.1f} MB")
    assert last <= first * 1.02


def decision(number: int) -> dict[str, Any]:
    """A decision over a state of its own, of a length that varies."""
    options = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]
    state = f"Order {number}. " + "It was late. " * (number % 7)
    return {"id": str(number), "state": state, "question": "Was it late?", "options": options}
