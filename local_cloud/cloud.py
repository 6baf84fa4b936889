"""The life of the local cloud: start, find, stop, and the environment its clients need."""

import contextlib
import hashlib
import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import httpx2

from local_cloud.errors import AlreadyRunningError, StartError
from local_cloud.leash import Leash
from local_cloud.state_directory import RunRecord, StateDirectory

REPOSITORY_ROOT = Path(__file__).parents[1]
DEFAULT_STATE_DIRECTORY = REPOSITORY_ROOT / ".local"
ACCOUNT_ID = "000000000000"
REGION = "us-east-1"
EXIT_ALREADY_RUNNING = 75

_START_TIMEOUT_SECONDS = 60.0
_STOP_TIMEOUT_SECONDS = 45.0
# Longer than a container's own grace, so that an orderly end is not cut short.
_GRACE_SECONDS = 40.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Cloud:
    """A running cloud. As a context manager it ends the cloud on leaving."""

    state_dir: Path
    port: int
    pid: int
    _leash: Leash | None = field(default=None, repr=False, compare=False)

    @property
    def endpoint_url(self) -> str:
        """Where every service of the cloud answers."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """End it and everything it started."""
        stop(self.state_dir)
        if self._leash is not None:
            self._leash.end()

    def __enter__(self) -> "Cloud":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def start(
    state_dir: Path = DEFAULT_STATE_DIRECTORY, *, detached: bool, variables: Mapping[str, str] | None = None
) -> Cloud:
    """The cloud of this clone, started and ready; unless `detached`, it ends when this process does.

    It gets this process's environment, and `variables`.

    Raises:
        AlreadyRunningError: one runs in this clone.
        StartError: it ended or was not ready within a minute; the message has the last line of its log.
    """
    state = StateDirectory(state_dir.resolve())
    state.create()
    start_id = uuid.uuid4().hex
    with state.cloud_log.open("ab") as log:
        leash = Leash(
            [sys.executable, "-m", "local_cloud.server", state.root, start_id],
            environment={**_server_environment(state), **(variables or {})},
            directory=REPOSITORY_ROOT,
            output=log,
            grace_seconds=_GRACE_SECONDS,
            owned=not detached,
        )
    try:
        record = _wait_until_ready(state, leash, start_id)
    except BaseException:
        leash.end()
        raise
    return Cloud(state.root, record.port, record.pid, leash)


def discover(state_dir: Path = DEFAULT_STATE_DIRECTORY) -> Cloud | None:
    """The cloud that runs in this clone, or None."""
    if not state_dir.is_dir():
        return None
    state = StateDirectory(state_dir.resolve())
    lock = state.lock()
    if lock is not None:
        lock.close()
        return None
    record = state.read_run_record()
    return None if record is None else Cloud(state.root, record.port, record.pid)


def stop(state_dir: Path = DEFAULT_STATE_DIRECTORY) -> bool:
    """End the cloud of this clone and wait for it; False when none runs."""
    cloud = discover(state_dir)
    if cloud is None:
        return False
    for number, timeout_seconds in ((signal.SIGTERM, _STOP_TIMEOUT_SECONDS), (signal.SIGKILL, _STOP_TIMEOUT_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(cloud.pid, number)
        for _ in _until(timeout_seconds):
            if discover(state_dir) is None:
                return True
    raise StartError(f"the local cloud (pid {cloud.pid}) does not end; see {StateDirectory(cloud.state_dir).cloud_log}")


def client_settings(cloud: Cloud) -> dict[str, str]:
    """The variables that point an AWS client at the cloud, and at nothing else."""
    state = StateDirectory(cloud.state_dir)
    # The CDK command remembers accounts by access key, so each run of each clone needs its own.
    identity = hashlib.sha256(f"{cloud.state_dir}:{cloud.port}:{cloud.pid}".encode()).hexdigest()[:12]
    return {
        "AWS_ENDPOINT_URL": cloud.endpoint_url,
        "AWS_ACCESS_KEY_ID": f"LOCAL{identity.upper()}",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_HOME": str(state.cdk),
        **_no_proxy(),
    }


def client_environment(cloud: Cloud) -> dict[str, str]:
    """This process's environment without its AWS settings, with the cloud's: for a command that talks to the cloud."""
    return {**_without_aws(), **client_settings(cloud)}


def _without_aws() -> dict[str, str]:
    """This process's environment, its own Python first on PATH: `python` means this one in whatever is started."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_DEFAULT_"))}
    return {**kept, "PATH": os.pathsep.join((str(Path(sys.executable).parent), kept.get("PATH", os.defpath)))}


def _server_environment(state: StateDirectory) -> dict[str, str]:
    """The server's environment; MiniStack reads its settings here when it is imported."""
    return {
        **_without_aws(),
        "TMPDIR": str(state.temporary),
        "STATE_DIR": str(state.data / "state"),
        "S3_DATA_DIR": str(state.data / "s3"),
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "MINISTACK_ACCOUNT_ID": ACCOUNT_ID,
        "LAMBDA_EXECUTOR": "local",
        # Lambda's Node.js runtime brings the AWS SDK; the functions that CDK adds count on it.
        "NODE_PATH": str(REPOSITORY_ROOT / "node_modules"),
        # Listeners on fixed ports, which two clouds would fight for.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        # An engine that happens to be installed is none of ours: nothing here may use or reap its containers.
        "DOCKER_HOST": f"unix://{state.root / 'no-docker-engine.sock'}",
        "PYTHONUNBUFFERED": "1",
        **_no_proxy(),
    }


def _no_proxy() -> dict[str, str]:
    """This machine's exceptions from its proxy, and the machine itself: the cloud must be reached directly."""
    known = os.environ.get("NO_PROXY") or os.environ.get("no_proxy")
    hosts = ",".join(filter(None, (known, "127.0.0.1,localhost")))
    return {"NO_PROXY": hosts, "no_proxy": hosts}


def _wait_until_ready(state: StateDirectory, leash: Leash, start_id: str) -> RunRecord:
    with httpx2.Client(trust_env=False, timeout=2.0) as client:
        for _ in _until(_START_TIMEOUT_SECONDS):
            status = leash.wait(_POLL_SECONDS)
            if status == EXIT_ALREADY_RUNNING:
                raise AlreadyRunningError(_already_running(state))
            if status is not None:
                raise StartError(
                    f"the local cloud ended with status {status}: {last_line(state.cloud_log)} (log: {state.cloud_log})"
                )
            record = state.read_run_record()
            if record is None or record.start_id != start_id:
                continue
            with contextlib.suppress(httpx2.TransportError):
                if client.get(f"http://127.0.0.1:{record.port}/_ministack/health").is_success:
                    return record
    raise StartError(f"the local cloud was not ready within {_START_TIMEOUT_SECONDS:.0f} s; see {state.cloud_log}")


def _already_running(state: StateDirectory) -> str:
    record = state.read_run_record()
    who = "another process is starting it" if record is None else f"pid {record.pid}, http://127.0.0.1:{record.port}"
    return f"a local cloud runs in {state.root} already ({who}). Stop it with: make local-down"


def last_line(log: Path) -> str:
    """The last line of a log that has anything in it."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it printed nothing"


def _until(timeout_seconds: float) -> Iterator[None]:
    """Turns of a bounded wait, a short pause between them."""
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(_POLL_SECONDS)
