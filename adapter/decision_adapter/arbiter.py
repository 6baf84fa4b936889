"""gunicorn's main process, which says what its one worker died of.

The first decode happens in the worker. A build for another CPU, a compiler's mistake, or too little memory end a
process in the middle of an instruction, and no code of ours runs in it after that. Its parent can say what happened,
and ends the container instead of starting the same thing again.
"""

import mmap
import os
import signal
from collections.abc import Mapping

from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]
from gunicorn.errors import HaltServer  # type: ignore[import-untyped]

OTHER_BUILD = (
    "Use libraries built for this CPU, or with a CPU backend for each microarchitecture as the published container has "
    "them (SEMIF_LLAMA_CPP_LIB_DIR)"
)

CAUSES: Mapping[int, str] = {
    signal.SIGILL: f"an illegal instruction: llama.cpp was built for another CPU than this one. {OTHER_BUILD}",
    signal.SIGFPE: f"an arithmetic fault, as a wrong build or a damaged model makes it. {OTHER_BUILD}",
    signal.SIGSEGV: "a memory fault: most often a CPU backend whose AMX tiles the compiler set up wrongly. Unset "
    f"SEMIF_ALLOW_AMX, or build llama.cpp with GGML_NATIVE=OFF. {OTHER_BUILD}",
    signal.SIGKILL: "a kill, as the kernel does when memory runs out. Lower SEMIF_MAX_TOKENS, use a smaller "
    "quantization of the model, or give the container more memory",
    signal.SIGBUS: "a fault while reading the model's file: it is cut short, or its disk fails. Unpack it anew",
    signal.SIGABRT: "a failed check in llama.cpp. Use a model that this llama.cpp supports, or lower SEMIF_MAX_TOKENS",
}

REFUSED_TO_START = 3
"""The exit status of a container that cannot start; gunicorn's own for a worker that cannot."""


class Readiness:
    """Whether the worker has scored a decision: one byte that it shares with its parent."""

    def __init__(self) -> None:
        self._byte = mmap.mmap(-1, 1)  # anonymous, and shared with what is forked

    def set(self) -> None:
        """Say so. Any thread of the worker."""
        self._byte[0] = 1

    def is_set(self) -> bool:
        """Whether the worker has said so."""
        return self._byte[0] == 1


READINESS = Readiness()
"""Made before the fork, by the import in ``serve``."""


class OneWorkerArbiter(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    """Ends with one sentence when its worker has died, instead of loading the model again and again."""

    _killed_by: int | None = None

    def reap_workers(self) -> None:
        """Reap the worker, if it has ended, and remember the signal that ended it."""
        for pid in self.WORKERS:
            self._killed_by = _fatal_signal(pid) or self._killed_by
        super().reap_workers()

    def spawn_worker(self) -> int:
        """Start the worker, once.

        Raises:
            HaltServer: there was one before.
        """
        if self.worker_age == 0:
            return int(super().spawn_worker())
        if READINESS.is_set() or self._killed_by is None:
            raise HaltServer("the worker died; see the lines above", 1)
        sentence = explain(self._killed_by)
        self.log.critical("cannot start: %s", sentence)
        raise HaltServer("the worker could not start", REFUSED_TO_START)


def explain(number: int) -> str:
    """The sentence for a worker that signal ``number`` ended before it had scored."""
    cause = CAUSES.get(number, f"signal {number}, which some other process sent")
    return f"the worker had not scored yet when it was ended by {cause}. What llama.cpp said last is in the lines above"


def _fatal_signal(pid: int) -> int | None:
    """The signal that ended the child ``pid``, which stays to be reaped; None while it runs or when it ended itself."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended.si_status if ended and ended.si_code in (os.CLD_KILLED, os.CLD_DUMPED) else None
