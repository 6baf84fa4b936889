"""One build: the phases of a buildspec in bash, each command's outcome, and the variables it exports.

A phase is one bash process. What it leaves in variables, functions and the current directory is there in the next
phase, as in CodeBuild, also when a command ended it with `exit`.
"""

import enum
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local_cloud.buildspec import PHASES, Buildspec, Phase
from local_cloud.leash import Leash
from local_cloud.log_stream import LogStream

_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.1
# Variables that bash owns: it refuses some and would be misled by others.
_SHELL_VARIABLES = (
    "BASH.*|DIRSTACK|EUID|FUNCNAME|GROUPS|LINENO|PIPESTATUS|PPID|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID|_"
)


class Status(enum.StrEnum):
    """How a build or a phase ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    STOPPED = "STOPPED"


@dataclass(frozen=True)
class PhaseResult:
    """One finished phase; `message` says what failed."""

    name: str
    status: Status
    started: float
    ended: float
    message: str = ""


@dataclass
class BuildRun:
    """A buildspec being run.

    `control` is an empty directory for the run's own files, `source` the directory that commands start in. `on_phase`
    is told the name of each phase as it begins, and its result as it ends.
    """

    buildspec: Buildspec
    source: Path
    control: Path
    environment: Mapping[str, str]
    timeout_seconds: float
    log: LogStream
    on_phase: Callable[[str, PhaseResult | None], None]
    stopping: threading.Event = field(default_factory=threading.Event)
    _deadline: float = 0.0

    def run(self) -> Status:
        """Run all phases; the build's status."""
        self._deadline = time.monotonic() + self.timeout_seconds
        (self.control / "environment.sh").write_text(f"cd {shlex.quote(str(self.source))}\n")
        outcome = Status.SUCCEEDED
        for name in PHASES:
            phase = self.buildspec.phases.get(name)  # type: ignore[call-overload] # a plain str, checked by PHASES
            if phase is None:
                continue
            result = self._run_phase(name, phase)
            if result.status is Status.SUCCEEDED:
                continue
            if outcome is Status.SUCCEEDED and phase.on_failure != "CONTINUE":
                outcome = result.status
            if result.status is not Status.FAILED or not _continues(name, phase):
                break
        return outcome

    def exported_variables(self) -> dict[str, str]:
        """The values of the variables that the buildspec exports; one that was never set is left out."""
        names = self.buildspec.env.exported_variables
        script = [". environment.sh", *(f'printf "%s\\0" "${{{name}+x}}${name}"' for name in names)]
        shown = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=self.control,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split("\0")
        return {name: value[1:] for name, value in zip(names, shown, strict=False) if value}

    def _run_phase(self, name: str, phase: Phase) -> PhaseResult:
        self.on_phase(name, None)
        started = time.time()
        status, message = self._run_commands(name, phase.commands)
        if phase.finally_commands and status in (Status.SUCCEEDED, Status.FAILED):
            last_status, last_message = self._run_commands(name, phase.finally_commands)
            if status is Status.SUCCEEDED:
                status, message = last_status, last_message
        result = PhaseResult(name, status, started, time.time(), message)
        self.log.write(f"[Container] Phase complete: {name.upper()} State: {status}")
        self.on_phase(name, result)
        return result

    def _run_commands(self, name: str, commands: Sequence[str]) -> tuple[Status, str]:
        """The status of a list of commands and, when it is not success, which of them failed and how."""
        script = self._script(name, commands)
        leash = Leash(
            ["bash", script],
            environment=self.environment,
            directory=self.source,
            output=subprocess.PIPE,
            grace_seconds=_GRACE_SECONDS,
        )
        copier = threading.Thread(target=self.log.copy_from, args=(leash.output,), daemon=True)
        copier.start()
        status = self._wait(leash)
        copier.join(timeout=2)
        if status == 0:
            return Status.SUCCEEDED, ""
        command = commands[int((self.control / "command").read_text())]
        if isinstance(status, int):
            return Status.FAILED, f"Error while executing command: {command.strip()}. Reason: exit status {status}"
        reason = "the build was stopped" if status is Status.STOPPED else f"time-out of {self.timeout_seconds:.0f} s"
        return status, f"Ended while executing command: {command.strip()}. Reason: {reason}"

    def _wait(self, leash: Leash) -> int | Status:
        """The exit status, or why the command was ended."""
        while True:
            status = leash.wait(_POLL_SECONDS)
            if status is not None:
                return status
            if self.stopping.is_set() or time.monotonic() > self._deadline:
                leash.end()
                return Status.STOPPED if self.stopping.is_set() else Status.TIMED_OUT

    def _script(self, name: str, commands: Sequence[str]) -> Path:
        saved = shlex.quote(str(self.control / "environment.sh"))
        current = shlex.quote(str(self.control / "command"))
        lines = [f". {saved} 2>/dev/null", f"trap {shlex.quote(_save(saved))} EXIT"]
        for index, command in enumerate(commands):
            file = self.control / f"{name}-{index}.sh"
            file.write_text(command + "\n")
            shown = re.sub(r"\s+", " ", command.strip())
            lines += [
                f"echo {index} > {current}",
                f"printf '%s\\n' {shlex.quote(f'[Container] Running command {shown}')}",
                # Sourced, so that variables and directory changes stay; its status is the last command's.
                f". {shlex.quote(str(file))}",
                "__status=$?; [ $__status -eq 0 ] || exit $__status",
            ]
        (self.control / "command").write_text("0")
        script = self.control / f"{name}.sh"
        script.write_text("\n".join(lines) + "\n")
        return script


def _save(file: str) -> str:
    """Shell commands that write down variables, functions and the directory, so that another bash can go on."""
    return (
        f"__status=$?; {{ declare -p | grep -Ev '^declare -[a-zA-Z]*r|^declare -[a-zA-Z-]+ ({_SHELL_VARIABLES})(=|$)'; "
        f'declare -f; printf "cd %q\\n" "$PWD"; }} > {file}; exit $__status'
    )


def _continues(name: str, phase: Phase) -> bool:
    """Whether the next phase runs after this one failed: as in CodeBuild, post_build runs whatever became of build."""
    if phase.on_failure is not None:
        return phase.on_failure == "CONTINUE"
    return name == "build"
