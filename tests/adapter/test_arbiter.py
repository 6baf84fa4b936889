"""A crash in the first decode is one sentence with its cause and the setting that avoids it."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decision_adapter.arbiter import CAUSES, explain


@pytest.mark.parametrize(
    ("number", "cause", "remedy"),
    [
        (signal.SIGILL, "illegal instruction", "SEMIF_LLAMA_CPP_LIB_DIR"),
        (signal.SIGSEGV, "AMX", "SEMIF_ALLOW_AMX"),
        (signal.SIGKILL, "memory runs out", "SEMIF_MAX_TOKENS"),
        (signal.SIGBUS, "model's file", "Unpack it anew"),
        (signal.SIGABRT, "failed check", "SEMIF_MAX_TOKENS"),
        (signal.SIGFPE, "arithmetic fault", "SEMIF_LLAMA_CPP_LIB_DIR"),
        (signal.SIGHUP, "signal 1, which some other process sent", "lines above"),
    ],
)
def test_every_crash_has_a_cause_and_a_remedy(number: int, cause: str, remedy: str) -> None:
    sentence = explain(number)
    assert cause in sentence
    assert remedy in sentence
    assert "\n" not in sentence


def preloaded(folder: Path, function: str) -> str:
    """A library with ``function``, which llama.cpp finds before its own of that name."""
    path = folder / "libpreloaded.so"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    includes = "#include <signal.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <string.h>\n"
    subprocess.run(command, input=includes + function, text=True, check=True)
    return str(path)


@pytest.mark.parametrize("number", sorted(CAUSES))
def test_a_container_whose_first_decode_crashes_ends_with_one_sentence(
    start_container: Callable[..., Any], model_dir: Path, tmp_path: Path, number: int
) -> None:
    # given a llama.cpp whose decode dies of a signal
    die = "abort()" if number == signal.SIGABRT else f"raise({number})"
    function = f"int ggml_backend_sched_graph_compute_async(void *s, void *g) {{ {die}; return 0; }}"
    # when the container starts
    container = start_container(model_dir, LD_PRELOAD=preloaded(tmp_path, function))
    # then it ends, and does not start again
    assert container.process.wait(timeout=60) == 3, container.log()
    critical = [line for line in map(json.loads, container.log().splitlines()) if line["level"] == "critical"]
    [sentence] = [line["message"] for line in critical]
    assert sentence.startswith(f"cannot start: the worker had not scored yet when it was ended by {CAUSES[number]}")


def test_logits_that_are_no_numbers_end_the_start(
    start_container: Callable[..., Any], model_dir: Path, tmp_path: Path
) -> None:
    # given a llama.cpp whose logits, on their way out of the graph, become NaN: all bits set
    function = "void ggml_backend_tensor_get_async(void *b, void *t, void *data, size_t offset, size_t size)"
    container = start_container(model_dir, LD_PRELOAD=preloaded(tmp_path, function + "{ memset(data, 255, size); }"))
    # then
    assert container.process.wait(timeout=60) == 3, container.log()
    assert "logits are not finite" in container.log()
