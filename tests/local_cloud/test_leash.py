"""Whatever happens to the owner, nothing it started survives."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from local_cloud.leash import Leash

# An owner that puts a command on a leash and then waits to be killed.
OWNER = """
import signal, sys, subprocess, time
# whoever runs the tests in the background has them ignore SIGINT, and this process inherits that
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from local_cloud.leash import Leash
leash = Leash(["bash", "-c", sys.argv[1]], environment={"PATH": sys.argv[2], "MARK": sys.argv[3]},
              directory=Path.cwd(), output=subprocess.DEVNULL, grace_seconds=1.0)
print("started", flush=True)
time.sleep(600)
"""


@pytest.fixture
def mark() -> str:
    return f"mark-{uuid.uuid4().hex}"


def leashed(command: str, mark: str, tmp_path: Path, **options) -> Leash:
    environment = {"PATH": os.environ["PATH"], "MARK": mark}
    arguments = {"output": subprocess.DEVNULL, "grace_seconds": 1.0, **options}
    return Leash(["bash", "-c", command], environment=environment, directory=tmp_path, **arguments)


def started(path: Path, eventually) -> None:
    eventually(path.exists)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_survives_the_owner(how, mark, tmp_path, eventually, processes_with):
    ready = tmp_path / "ready"
    # A command that ignores SIGTERM, with a child that does too.
    command = f"trap '' TERM; sleep 601 & touch {ready}; wait; sleep 602"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, command, os.environ["PATH"], mark],
        stdout=subprocess.PIPE,
    )
    try:
        started(ready, eventually)
        assert len(processes_with(mark)) >= 3

        owner.send_signal(how)
        owner.wait(10)
    finally:
        owner.kill()
        owner.stdout.close()

    eventually(lambda: not processes_with(mark))


def test_command_may_end_in_order(mark, tmp_path, eventually):
    ready, ended = tmp_path / "ready", tmp_path / "ended"
    leash = leashed(f"trap 'touch {ended}; exit 0' TERM; touch {ready}; sleep 600 & wait", mark, tmp_path)
    started(ready, eventually)

    leash.end()

    assert ended.exists()
    assert leash.wait(0) == 0


def test_status_is_that_of_the_command(mark, tmp_path):
    assert leashed("exit 7", mark, tmp_path).wait(10) == 7
    assert leashed("kill -KILL $$", mark, tmp_path).wait(10) == 128 + signal.SIGKILL


def test_what_a_command_leaves_running_is_ended(mark, tmp_path, eventually, processes_with):
    leash = leashed("sleep 600 & exit 0", mark, tmp_path)

    assert leash.wait(10) == 0

    eventually(lambda: not processes_with(mark))


def test_death_of_the_owners_process_group_does_not_spare_the_command(mark, tmp_path, eventually, processes_with):
    ready = tmp_path / "ready"
    command = [sys.executable, "-c", OWNER, f"touch {ready}; sleep 600", os.environ["PATH"], mark]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    started(ready, eventually)

    os.killpg(owner.pid, signal.SIGKILL)
    owner.wait(10)
    owner.stdout.close()

    eventually(lambda: not processes_with(mark))


def test_unowned_command_ends_by_a_signal(mark, tmp_path, eventually, processes_with):
    ready = tmp_path / "ready"
    leash = leashed(f"touch {ready}; sleep 600", mark, tmp_path, owned=False)
    started(ready, eventually)

    leash.end()

    assert leash.wait(0) == 128 + signal.SIGTERM
    assert not processes_with(mark)
