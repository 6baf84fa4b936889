"""Containers as processes of this machine: what stands for an image, and how it is started, watched and ended."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from botocore.exceptions import ClientError

from local_cloud.built_images import BuiltImage, BuiltImages
from local_cloud.errors import ContainerError, ImageError
from local_cloud.image_store import PINNED, Image, ImageStore
from local_cloud.leash import Leash
from local_cloud.log_stream import LogStream
from local_cloud.program import Program

if TYPE_CHECKING:
    from mypy_boto3_ecr.client import ECRClient

MODEL_DIRECTORY = "/opt/ml/model"
CHAT_REPOSITORIES = ("llama-cpp", "llama-cpp-arm64")
# The platform's: SIGTERM, then SIGKILL 30 s later; a ping must be answered within 2 s.
STOP_GRACE_SECONDS = 30.0
_PING_TIMEOUT_SECONDS = 2.0
_PING_INTERVAL_SECONDS = 0.1
_SHOWN_LINES = 5
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
_REPOSITORY_ROOT = Path(__file__).parents[1]
_PLAYGROUND = {"SEMIF_PLAYGROUND": "1"}  # unless the deployment says otherwise


class Images:
    """What a pinned image name stands for here: what builds have made, or the chat server.

    The chat server stands for the published llama.cpp container, and for a copy of it.
    """

    def __init__(self, store: ImageStore | BuiltImages, ecr: "ECRClient") -> None:
        self._store = store
        self._ecr = ecr

    def check(self, image: str) -> None:
        """Make sure that an image can be run here.

        Raises:
            ImageError: not pinned by digest, or neither built here nor the llama.cpp container.
        """
        if not PINNED.fullmatch(image):
            raise ImageError(
                f"Requested image {image} is not pinned: give repository@sha256:<64 hex digits>, not a tag."
            )
        if not self._is_chat(image):
            self._pushed(image)

    def program(self, image: str, environment: Mapping[str, str], model: Path, port: int) -> Program:
        """How to run an image with the deployed environment, so that it listens on a port of 127.0.0.1.

        A variable that names a path under /opt/ml/model names the extracted directory instead.
        """
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        # Threads of several containers share these cores: one that waits must not spin.
        defaults = {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "OMP_WAIT_POLICY": "passive"}
        common = {**inherited, **defaults}
        if self._is_chat(image):
            settings = {"SM_LLAMA_CPP_MODEL_DIR": str(model), "SM_LLAMA_CPP_PORT": str(port)}
            command = (sys.executable, "-m", "local_cloud.chat_server")
            chat = {**common, **_deployed(environment, model), **self._store.chat_variables(image, model), **settings}
            return Program(command, _REPOSITORY_ROOT, chat)
        pushed = self._pushed(image)
        settings = {"SEMIF_HOST": "127.0.0.1", "SEMIF_PORT": str(port)}
        if isinstance(pushed, BuiltImage):
            return pushed.program(common, {**_PLAYGROUND, **environment, **settings}, model)
        serve = pushed.content / "serve"
        if not os.access(serve, os.X_OK):
            raise ImageError(f"Image {image} has no executable file 'serve' at the root of its build context.")
        settings |= {"SEMIF_MODEL_DIR": str(model), "PYTHONPATH": str(pushed.content)}
        deployed = _deployed(environment, model)
        return Program((str(serve),), pushed.content, {**common, **_PLAYGROUND, **deployed, **settings})

    def _is_chat(self, image: str) -> bool:
        name, _, digest = image.partition("@")
        source = self._store.find_published(digest) if self._is_pushed(image) else None
        return (source or name).rpartition("/")[2] in CHAT_REPOSITORIES

    def _pushed(self, image: str) -> Image | BuiltImage:
        found = self._store.find(image.partition("@")[2])
        if found is None or not self._is_pushed(image):
            raise ImageError(f"Requested image {image} not found: it was not built and pushed in this local cloud.")
        return found

    def _is_pushed(self, image: str) -> bool:
        """Whether the cloud's own registry has it."""
        name, _, digest = image.partition("@")
        repository = name.partition("/")[2]
        try:
            found = self._ecr.batch_get_image(repositoryName=repository, imageIds=[{"imageDigest": digest}])["images"]
        except ClientError:
            return False
        return bool(found)


class Container:
    """One started process and its log. Ends with `stop`, or with the process that made it."""

    def __init__(self, program: Program, port: int, log: LogStream) -> None:
        self.port = port
        self.log = log
        self._leash = Leash(
            program.command,
            environment=program.environment,
            directory=program.directory,
            output=subprocess.PIPE,
            grace_seconds=STOP_GRACE_SECONDS,
        )
        self._copier = threading.Thread(target=log.copy_from, args=(self._leash.output,), daemon=True)
        self._copier.start()

    def wait_until_healthy(self, timeout_seconds: float, purpose: str) -> None:
        """Return when /ping answers 200.

        Raises:
            ContainerError: the process ended, or the time-out passed; with the last lines of its log.
        """
        deadline = time.monotonic() + timeout_seconds
        with httpx2.Client(trust_env=False, timeout=_PING_TIMEOUT_SECONDS) as client:
            while time.monotonic() < deadline:
                status = self._leash.wait(_PING_INTERVAL_SECONDS)
                if status is not None:
                    self._copier.join(timeout=2)
                    raise ContainerError(
                        f"The primary container for {purpose} ended with status {status}: "
                        f"{_message(self.log.last_lines(1))} (log: {self.log.path})"
                    )
                if self._is_healthy(client):
                    return
        raise ContainerError(
            f"The primary container for {purpose} did not pass the ping health check within "
            f"{timeout_seconds:.0f} s. Last lines of {self.log.path}:\n{self.log.last_lines(_SHOWN_LINES)}"
        )

    def stop(self) -> None:
        """End the process and close its log."""
        self._leash.end()
        self._copier.join(timeout=2)
        self.log.close()

    def wait_until_ended(self) -> int | None:
        """The exit status; blocks until the process has ended, however it does."""
        self._copier.join()  # what it prints ends with it
        return self._leash.wait(STOP_GRACE_SECONDS)

    def exit_status(self, timeout_seconds: float) -> int | None:
        """The exit status once the process has ended, or None when it still runs after the time-out."""
        return self._leash.wait(timeout_seconds)

    def _is_healthy(self, client: httpx2.Client) -> bool:
        try:
            return client.get(f"http://127.0.0.1:{self.port}/ping").status_code == httpx2.codes.OK
        except httpx2.TransportError:
            return False


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _deployed(environment: Mapping[str, str], model: Path) -> dict[str, str]:
    return {name: _relocated(value, model) for name, value in environment.items()}


def _relocated(value: str, model: Path) -> str:
    return re.sub(rf"^{MODEL_DIRECTORY}(?=/|$)", lambda _: str(model), value)


def _message(line: str) -> str:
    """The sentence of a log line, which may be a JSON object."""
    try:
        fields = json.loads(line)
    except json.JSONDecodeError:
        return line
    return str(fields.get("message", line)) if isinstance(fields, dict) else line
