"""A command that ends when its owner does, however the owner ends.

    owner ──stdin pipe──▶ leash ──▶ command, in a session of its own

The leash waits for the command and for the end of its own standard input. The kernel closes the pipe even when the
owner is killed with SIGKILL, so the leash always learns of it: it then sends SIGTERM to the command's process group
and, after a grace period, SIGKILL. When the command ends by itself, what it left running in its group is ended too.

Run as a script with nothing but the standard library, so that it starts from any directory: `python -I leash.py`.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_MARGIN_SECONDS = 5.0


class Leash:
    """A running command on a leash; its output goes to `output`, standard output and error as one.

    With `owned=False` it outlives this process, and ends only by itself or by a signal.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        directory: Path,
        output: IO[bytes] | int,
        grace_seconds: float,
        owned: bool = True,
    ) -> None:
        self._grace_seconds = grace_seconds
        options = ["--grace-seconds", str(grace_seconds), *([] if owned else ["--unowned"])]
        # A session of its own for the leash too: whoever kills the owner's process group must not kill the leash.
        self._process = subprocess.Popen(
            [sys.executable, "-I", __file__, *options, "--", *map(str, command)],
            stdin=subprocess.PIPE if owned else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
        )

    @property
    def output(self) -> IO[bytes]:
        """What the command prints; only with `output=subprocess.PIPE`."""
        if self._process.stdout is None:
            raise ValueError("the output of this leash goes elsewhere")
        return self._process.stdout

    def wait(self, timeout_seconds: float) -> int | None:
        """The command's exit status once it has ended, or None when it still runs after the time-out."""
        try:
            status = self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None
        if self._process.stdin is not None:
            self._process.stdin.close()
        return status

    def release(self) -> None:
        """Ask the command to end, and return at once."""
        if self._process.stdin is None:
            self._process.terminate()
        else:
            self._process.stdin.close()

    def end(self) -> None:
        """End the command: SIGTERM, then SIGKILL after the grace period."""
        self.release()
        if self.wait(self._grace_seconds + _MARGIN_SECONDS) is None:
            self._process.kill()
            self._process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given after `--`; its exit status, 128 + n when signal n ended it."""
    parser = argparse.ArgumentParser(description="Run a command that ends when standard input does.")
    parser.add_argument("--grace-seconds", type=float, required=True)
    parser.add_argument("--unowned", action="store_true", help="do not watch standard input")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)

    child = subprocess.Popen(options.command, stdin=subprocess.DEVNULL, start_new_session=True)
    ending = threading.Event()

    def end_child() -> None:
        ending.wait()
        _signal_group(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(options.grace_seconds)
        _signal_group(child.pid, signal.SIGKILL)

    def watch_owner() -> None:
        # os.read, not sys.stdin: a buffered reader's lock would be held when the interpreter exits.
        while os.read(0, 1024):
            pass
        ending.set()

    # SIGINT is for the owner, who decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    threading.Thread(target=end_child, daemon=True).start()
    if not options.unowned:
        threading.Thread(target=watch_owner, daemon=True).start()
    status = child.wait()
    _signal_group(child.pid, signal.SIGKILL)
    return status if status >= 0 else 128 - status


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main())
