"""Log lines: one JSON object each, on standard output."""

import json
import logging
from datetime import UTC, datetime
from typing import Any


class JsonFormatter(logging.Formatter):
    """Time, level, logger and message of a record, and the entries of its ``fields`` if it has some."""

    def format(self, record: logging.LogRecord) -> str:
        """The line for ``record``, without line breaks."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


CONFIGURATION: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonFormatter}},
    "handlers": {"stdout": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout", "formatter": "json"}},
    "root": {"level": "INFO", "handlers": ["stdout"]},
    # gunicorn gives its loggers handlers of their own; here everything goes through the root's.
    "loggers": {"gunicorn.error": {"level": "INFO", "handlers": [], "propagate": True}},
}
"""For ``logging.config.dictConfig`` and gunicorn's ``logconfig_dict``."""
