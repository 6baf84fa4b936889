"""A log line is one JSON object."""

import json
import logging
import sys

from decision_adapter.logs import JsonFormatter


def record(message: str, **attributes: object) -> logging.LogRecord:
    made = logging.LogRecord("a.logger", logging.WARNING, __file__, 1, message, ("x",), None)
    made.__dict__.update(attributes)
    return made


def test_a_line_has_the_message_and_the_fields() -> None:
    line = json.loads(JsonFormatter().format(record("hello %s", fields={"status": 200})))
    assert line.pop("time").endswith("+00:00")
    assert line == {"level": "warning", "logger": "a.logger", "message": "hello x", "status": 200}


def test_a_traceback_stays_on_the_line() -> None:
    try:
        int("why")
    except ValueError:
        text = JsonFormatter().format(record("failed %s", exc_info=sys.exc_info()))
    assert "\n" not in text
    assert "ValueError: invalid literal" in json.loads(text)["exception"]
