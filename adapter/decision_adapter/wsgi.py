"""The WSGI application gunicorn serves. Imported in the worker, after the fork: importing it starts to load the model.

llama.cpp's threads and a GPU's context do not survive a fork, so nothing here may run in gunicorn's main process.
"""

import logging
import os

from decision_adapter.arbiter import READINESS, REFUSED_TO_START
from decision_adapter.loading import BackgroundLoad, load_scorer
from decision_adapter.settings import Settings


def refuse(reason: str) -> None:
    """End this worker, and with it the container, for ``reason``."""
    logging.getLogger("decision_adapter").critical("cannot start: %s", reason)
    os._exit(REFUSED_TO_START)  # the only way out of a process from one of its other threads


settings = Settings.from_environment(os.environ)
loading = BackgroundLoad(lambda: load_scorer(settings), READINESS.set, refuse).start()

# Flask takes as long to be imported as a small model takes to be read.
from decision_adapter.app import create_app  # noqa: E402

app = create_app(loading, settings)
