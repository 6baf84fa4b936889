"""What a process prints, kept in a file of the state directory and in the cloud's CloudWatch Logs."""

import collections
import contextlib
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_logs.client import CloudWatchLogsClient

_REMEMBERED_LINES = 20
_FLUSH_SECONDS = 0.5
_BATCH_EVENTS = 1000


class LogStream:
    """One log stream and the file beside it. Lines reach the file at once and CloudWatch within a second."""

    def __init__(self, path: Path, group: str, stream: str, client: "CloudWatchLogsClient") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.group = group
        self.stream = stream
        self._client = client
        self._file = path.open("a", encoding="utf-8")
        self._recent: collections.deque[str] = collections.deque(maxlen=_REMEMBERED_LINES)
        self._pending: list[tuple[int, str]] = []
        self._changed = threading.Condition()
        self._closed = False
        self._uploader = threading.Thread(target=self._upload, name=f"logs-{stream}", daemon=True)
        self._uploader.start()

    def write(self, line: str) -> None:
        """Add a line."""
        with self._changed:
            self._file.write(line + "\n")
            self._file.flush()
            if line.strip():
                self._recent.append(line)
                self._pending.append((int(time.time() * 1000), line))
            self._changed.notify()

    def copy_from(self, output: IO[bytes]) -> None:
        """Add every line that a process prints until it ends, and close its output."""
        with output:
            for line in output:
                self.write(line.decode("utf-8", "replace").rstrip("\r\n"))

    def last_lines(self, count: int) -> str:
        """The latest lines with anything in them, or a sentence when there are none."""
        with self._changed:
            return "\n".join(list(self._recent)[-count:]) or "it printed nothing"

    def close(self) -> None:
        """Write out what is pending; nothing may be added afterwards."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._uploader.join(timeout=10)
        self._file.close()

    def _upload(self) -> None:
        created = False
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._closed)
                if not self._closed:
                    # Collect what follows, so that a chatty process costs one call and not a thousand.
                    self._changed.wait_for(lambda: self._closed, _FLUSH_SECONDS)
                batch, self._pending = self._pending[:_BATCH_EVENTS], self._pending[_BATCH_EVENTS:]
                if not batch and self._closed:
                    return
            try:
                created = created or self._create()
                self._client.put_log_events(
                    logGroupName=self.group,
                    logStreamName=self.stream,
                    logEvents=[{"timestamp": at, "message": line} for at, line in batch],
                )
            except (BotoCoreError, ClientError):
                # The file has the lines; the cloud may be shutting down.
                continue

    def _create(self) -> bool:
        exists = self._client.exceptions.ResourceAlreadyExistsException
        with contextlib.suppress(exists):
            self._client.create_log_group(logGroupName=self.group)
        with contextlib.suppress(exists):
            self._client.create_log_stream(logGroupName=self.group, logStreamName=self.stream)
        return True
