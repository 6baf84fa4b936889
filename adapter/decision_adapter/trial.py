"""The first decode, in a process of its own, so that a crash there is a sentence and not a dead container.

A build for another CPU, a compiler's mistake, or too little memory end a process in the middle of an instruction. No
code of ours runs after that in the same process; the parent of a child can say what happened.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from decision_adapter.errors import TrialError
from decision_adapter.settings import API_KEY, Settings

REFUSED = 3
"""Exit status of a child that says itself, in its last line, why it cannot go on."""

OTHER_BUILD = (
    "Use libraries built for this CPU, or with a CPU backend for each microarchitecture as the published container has "
    "them (SEMIF_LLAMA_CPP_LIB_DIR)"
)

CAUSES: Mapping[int, str] = {
    signal.SIGILL: f"an illegal instruction: llama.cpp was built for another CPU than this one. {OTHER_BUILD}",
    signal.SIGSEGV: "a memory fault: most often a CPU backend whose AMX tiles the compiler set up wrongly. Unset "
    f"SEMIF_ALLOW_AMX, or build llama.cpp with GGML_NATIVE=OFF. {OTHER_BUILD}",
    signal.SIGKILL: "a kill, as the kernel does when memory runs out. Lower SEMIF_MAX_TOKENS, use a smaller "
    "quantization of the model, or give the container more memory",
    signal.SIGBUS: "a fault while reading the model's file: it is cut short, or its disk fails. Unpack it anew",
    signal.SIGABRT: "a failed check in llama.cpp. Use a model that this llama.cpp supports, or lower SEMIF_MAX_TOKENS",
}


class Trial:
    """A child process that loads the model with the container's settings and scores one decision."""

    def __init__(self, settings: Settings) -> None:
        """Start it; it works while this process goes on."""
        # Its log lines go where ours go; what it says last, and what llama.cpp says when it aborts, is kept.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "decision_adapter.trial_child"],
            cwd=Path(__file__).parents[1],
            stderr=subprocess.PIPE,
            env=environment(settings, os.environ),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, if it still runs."""
        with self._process:  # which closes its pipe and reaps it
            self._process.kill()

    def wait(self) -> None:
        """Wait until it has scored.

        Raises:
            TrialError: it could not; says why, and which setting avoids it.
        """
        _, said = self._process.communicate()
        problem = explain(self._process.returncode, said.decode("utf-8", "replace"))
        if problem is not None:
            raise TrialError(problem)


def environment(settings: Settings, inherited: Mapping[str, str]) -> dict[str, str]:
    """The variables of a child for ``settings``: what it would inherit, but for the key, which it has no use for."""
    without_key = {name: value for name, value in inherited.items() if name != API_KEY}
    return without_key | settings.environment() | {"GGML_NO_BACKTRACE": "1"}


def explain(status: int, said: str) -> str | None:
    """The sentence for a child that ended with ``status`` (a negative one is a signal) and ``said`` this on stderr."""
    if status == 0:
        return None
    last = next((line.strip()[:300] for line in reversed(said.splitlines()) if line.strip()), "nothing")
    if status == REFUSED:
        return last
    if status < 0:
        cause = CAUSES.get(-status, f"signal {-status}. {OTHER_BUILD}")
        return f"the first decode, tried in a process of its own, ended with {cause}; it last said: {last}"
    return f"the first decode, tried in a process of its own, failed with exit status {status}; it last said: {last}"
