"""A container that starts, and one that does not."""

import os
import sys
from pathlib import Path

import pytest

from local_cloud.container import Container, Program, free_port
from local_cloud.errors import ContainerError
from local_cloud.log_stream import LogStream

UNHEALTHY = """
import http.server, sys
print("still reading the model", flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(503)
    def log_message(self, *args):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_container_that_never_gets_healthy_is_told_with_the_time_and_its_log(workshop, unique, tmp_path: Path):
    port = free_port()
    log = LogStream(tmp_path / "one.log", f"/{unique('group')}", "one", workshop.client("logs"))
    program = Program((sys.executable, "-c", UNHEALTHY, str(port)), tmp_path, {"PATH": os.environ["PATH"]})
    container = Container(program, port, log)
    try:
        with pytest.raises(ContainerError) as caught:
            container.wait_until_healthy(2, "production variant primary")
    finally:
        container.stop()

    message = str(caught.value)
    assert message.startswith(
        "The primary container for production variant primary did not pass the ping health check within 2 s."
    )
    assert message.endswith(f"Last lines of {tmp_path}/one.log:\nstill reading the model")
