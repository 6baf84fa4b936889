"""The process of the local cloud: `python -m local_cloud.server STATE_DIRECTORY START_ID`, started by `cloud.start`."""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework

from local_cloud.cloud import EXIT_ALREADY_RUNNING, Cloud
from local_cloud.state_directory import RunRecord, StateDirectory

_KEEP_ALIVE_SECONDS = 75
_GRACEFUL_SECONDS = 3
# Asking whether a cloud runs takes the lock for a moment; wait that moment out.
_LOCK_ATTEMPTS = 20
_LOCK_PAUSE_SECONDS = 0.05


def main() -> int:
    """Serve until SIGTERM or SIGINT; 75 when a cloud runs in this state directory already."""
    state, start_id = StateDirectory(Path(sys.argv[1])), sys.argv[2]
    for _ in range(_LOCK_ATTEMPTS):
        lock = state.lock()
        if lock is not None:
            break
        time.sleep(_LOCK_PAUSE_SECONDS)
    else:
        return EXIT_ALREADY_RUNNING
    # The lock is never given back: it ends with the process, and whoever waits for it waits for all of the process.
    state.clean()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        cloud = Cloud(state.root, listener.getsockname()[1], os.getpid())
        state.write_run_record(RunRecord(start_id, cloud.pid, cloud.port))
        _serve(cloud, listener)
    return 0


def _serve(cloud: Cloud, listener: socket.socket) -> None:
    # MiniStack reads its port when it is imported, and writes what it has no setting for into the current directory.
    os.environ["GATEWAY_PORT"] = str(cloud.port)
    os.chdir(StateDirectory(cloud.state_dir).temporary)
    from local_cloud import ministack_plugin  # noqa: PLC0415
    from local_cloud.services import create_services  # noqa: PLC0415

    # A line for each ping and invocation would bury the rest.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    services = create_services(cloud)
    ministack_plugin.install(services)
    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.keep_alive_timeout = _KEEP_ALIVE_SECONDS
    config.graceful_timeout = _GRACEFUL_SECONDS
    asyncio.run(_serve_until_stopped(ministack_plugin.asgi_application, config, services.sagemaker.stop))


async def _serve_until_stopped(application: ASGIFramework, config: Config, stop_containers: Callable[[], None]) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    stopped = asyncio.create_task(stopping.wait())
    serving = asyncio.create_task(serve(application, config, shutdown_trigger=stopping.wait))
    await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        await serving
    await asyncio.wait((serving,), timeout=2 * _GRACEFUL_SECONDS)
    await asyncio.to_thread(stop_containers)
    # MiniStack puts cancellation off until what it waits for has ended, and a stack may wait an hour for an answer:
    # leave without asking. Builds end because their leashes lose their owner, functions with the process group.
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
