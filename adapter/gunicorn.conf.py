"""gunicorn's configuration: one worker, whose threads share one model."""

import ctypes
import os
import signal
import sys
from pathlib import Path

from gunicorn.workers.base import Worker

from decision_adapter.logs import CONFIGURATION
from decision_adapter.settings import Settings

_settings = Settings.from_environment(os.environ)

wsgi_app = "decision_adapter.wsgi:app"
pythonpath = str(Path(__file__).parent)
_host = f"[{_settings.host}]" if ":" in _settings.host else _settings.host  # of IPv6, as in a URL
bind = f"{_host}:{_settings.port}"

# One model, one llama.cpp context, one owner: a second worker would load the model a second time.
workers = 1
worker_class = "decision_adapter.worker.HealthFirstWorker"
# Threads beyond the admitted requests answer health checks and refusals while the engine works.
threads = _settings.max_in_flight + 16
# The application is imported after the fork; see decision_adapter.wsgi.
preload_app = False

# A worker reports from its main thread, which never decodes: only a hung process is late.
timeout = 120
# SageMaker sends SIGTERM and, 30 s later, SIGKILL. What is admitted gets most of that time, and is then told to try
# elsewhere instead of being cut.
graceful_timeout = 24
DRAIN_SECONDS = 20
# Longer than the idle time of the platform's connection pool, which would meet a closed connection otherwise.
keepalive = 75
max_requests = 0
# No proxy of ours is in front: what a client says about schemes and script names is not believed.
forwarded_allow_ips = ""

# The worker's sign of life is a file; on a slow disk touching it can block.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None
control_socket_disable = True

logconfig_dict = CONFIGURATION
accesslog = None  # the application logs its requests itself, with their outcome


# From glibc's malloc.h.
M_TRIM_THRESHOLD = -1
M_ARENA_MAX = -8
KEPT_FREE_BYTES = 1024 * 1024


def post_fork(_server: object, _worker: Worker) -> None:
    """Give back the memory of a large request: glibc would keep some for each thread, and more each time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc alone
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_TRIM_THRESHOLD, KEPT_FREE_BYTES)


def post_worker_init(worker: Worker) -> None:
    """At SIGTERM, give what is admitted ``DRAIN_SECONDS`` to finish, beside what gunicorn does itself."""
    from decision_adapter.wsgi import loading  # noqa: PLC0415  # importing it loads the model: in the worker only

    def stop(signal_number: int, frame: object) -> None:
        loading.drain(DRAIN_SECONDS)
        worker.handle_exit(signal_number, frame)

    signal.signal(signal.SIGTERM, stop)


def worker_exit(_server: object, _worker: Worker) -> None:
    """End the worker's process when its work is done, without waiting for a thread that still loads the model."""
    leaving = sys.exc_info()[1]
    if isinstance(leaving, SystemExit):  # gunicorn's way to leave the worker; it also calls this in the main process
        os._exit(int(leaving.code or 0))
