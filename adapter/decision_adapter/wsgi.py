"""The WSGI application gunicorn serves. Imported in the worker, after the fork: importing it starts to load the model.

llama.cpp's threads and a GPU's context do not survive a fork, so nothing here may run in gunicorn's main process.
"""

import logging
import os

from decision_adapter.app import create_app
from decision_adapter.loading import BackgroundLoad, load_scorer
from decision_adapter.settings import Settings

WORKER_BOOT_ERROR = 3
"""The exit status after which gunicorn ends with the same status instead of starting another worker."""


def refuse(reason: str) -> None:
    """End this worker, and with it the container, for ``reason``."""
    logging.getLogger("decision_adapter").critical("cannot start: %s", reason)
    os._exit(WORKER_BOOT_ERROR)  # the only way out of a process from one of its other threads


settings = Settings.from_environment(os.environ)
loading = BackgroundLoad(lambda: load_scorer(settings), refuse).start()
app = create_app(loading, settings)
