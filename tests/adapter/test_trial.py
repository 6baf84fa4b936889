"""A crash in the first decode is one sentence with its cause and the setting that avoids it."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decision_adapter.settings import Settings
from decision_adapter.trial import CAUSES, REFUSED, environment, explain


def test_a_child_that_scored_is_no_problem() -> None:
    assert explain(0, "some noise") is None


def test_a_child_that_says_why_is_taken_at_its_word() -> None:
    assert explain(REFUSED, "noise\n\nllama.cpp cannot load m.gguf\n") == "llama.cpp cannot load m.gguf"


@pytest.mark.parametrize(
    ("number", "cause", "remedy"),
    [
        (signal.SIGILL, "illegal instruction", "SEMIF_LLAMA_CPP_LIB_DIR"),
        (signal.SIGSEGV, "AMX", "SEMIF_ALLOW_AMX"),
        (signal.SIGKILL, "memory runs out", "SEMIF_MAX_TOKENS"),
        (signal.SIGBUS, "model's file", "Unpack it anew"),
        (signal.SIGABRT, "failed check", "SEMIF_MAX_TOKENS"),
        (signal.SIGFPE, "signal 8", "SEMIF_LLAMA_CPP_LIB_DIR"),
    ],
)
def test_every_crash_has_a_cause_and_a_remedy(number: int, cause: str, remedy: str) -> None:
    sentence = explain(-number, "ggml.c:12: GGML_ASSERT(x) failed\n")
    assert sentence is not None
    assert cause in sentence
    assert remedy in sentence
    assert sentence.endswith("it last said: ggml.c:12: GGML_ASSERT(x) failed")
    assert "\n" not in sentence


def test_any_other_end_is_told_with_its_last_line() -> None:
    sentence = explain(1, "Traceback\nMemoryError\n")
    assert sentence == (
        "the first decode, tried in a process of its own, failed with exit status 1; it last said: MemoryError"
    )


def test_the_child_gets_the_settings_and_not_the_key() -> None:
    settings = Settings.from_environment({"SEMIF_THREADS": "3", "SEMIF_API_KEY": "k-123"})
    found = environment(settings, {"PATH": "/bin", "SEMIF_API_KEY": "k-123", "SEMIF_THREADS": "2"})
    assert (found["PATH"], found["SEMIF_THREADS"]) == ("/bin", "3")
    assert "k-123" not in str(found)


def preloaded(folder: Path, function: str) -> str:
    """A library with ``function``, which llama.cpp finds before its own of that name."""
    path = folder / "libpreloaded.so"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    includes = "#include <signal.h>\n#include <stddef.h>\n#include <string.h>\n"
    subprocess.run(command, input=includes + function, text=True, check=True)
    return str(path)


@pytest.mark.parametrize("number", sorted(CAUSES))
def test_a_container_whose_first_decode_crashes_ends_with_one_sentence(
    start_container: Callable[..., Any], model_dir: Path, tmp_path: Path, number: int
) -> None:
    # given a llama.cpp whose decode dies of a signal
    function = f"int ggml_backend_sched_graph_compute_async(void *s, void *g) {{ raise({number}); return 0; }}"
    # when the container starts
    container = start_container(model_dir, LD_PRELOAD=preloaded(tmp_path, function))
    # then it ends, and does not start again
    assert container.process.wait(timeout=60) == 3, container.log()
    critical = [line for line in map(json.loads, container.log().splitlines()) if line["level"] == "critical"]
    [sentence] = [line["message"] for line in critical]
    assert sentence.startswith(
        f"cannot start: the first decode, tried in a process of its own, ended with {CAUSES[number]}"
    )


def test_logits_that_are_no_numbers_end_the_start(
    start_container: Callable[..., Any], model_dir: Path, tmp_path: Path
) -> None:
    # given a llama.cpp whose logits, on their way out of the graph, become NaN: all bits set
    function = "void ggml_backend_tensor_get_async(void *b, void *t, void *data, size_t offset, size_t size)"
    container = start_container(model_dir, LD_PRELOAD=preloaded(tmp_path, function + "{ memset(data, 255, size); }"))
    # then
    assert container.process.wait(timeout=60) == 3, container.log()
    assert "logits are not finite" in container.log()
