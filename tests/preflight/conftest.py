"""AWS as botocore's own stubs, and the servers that images and models come from as a real one."""

import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import botocore.session
import pytest
from botocore.stub import Stubber

from decision_constructs import settings

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REVISION = "0" * 40


class StubbedSession(botocore.session.Session):
    """Each client answers what it was told to, in that order, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._stubbers: dict[str, Stubber] = {}

    def stubbed(self, service: str) -> Stubber:
        if service not in self._stubbers:
            client = super().create_client(
                service, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
            )
            self._stubbers[service] = Stubber(client)
            self._stubbers[service].activate()
        return self._stubbers[service]

    def create_client(self, service_name: str, *_: Any, **__: Any) -> Any:
        return self.stubbed(service_name).client


@pytest.fixture
def aws() -> StubbedSession:
    return StubbedSession()


class Served(BaseHTTPRequestHandler):
    """Answers by path."""

    answers: ClassVar[dict[str, tuple[int, Mapping[str, str], bytes]]]

    def do_GET(self) -> None:
        status, headers, body = self.answers.get(self.path.partition("?")[0], (404, {}, b""))
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, tuple[int, Mapping[str, str], bytes]]]]:
    """Its URL, and its answers to fill."""
    handler = type("Handler", (Served,), {"answers": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}", handler.answers  # type: ignore[attr-defined]
        listening.shutdown()
        thread.join()


def load(folder: Path, text: str, *, model: str = "", top: str = "") -> settings.Settings:
    """The settings of an environment `test` on the Hub, with more in the file."""
    hub = f'repository = "owner/name"\nrevision = "{REVISION}"\nfile = "tiny.gguf"\nsha256 = "{SHA256}"\n'
    (folder / "test.toml").write_text(f'region = "us-east-1"\n{top}\n[model]\n{model or hub}\n{text}')
    return settings.load("test", folder)
