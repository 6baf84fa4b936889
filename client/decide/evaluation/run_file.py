"""A saved run that is being written: begun, or continued where it stopped.

Lines reach the disk within a second: after a power failure the rows of that second are asked again, which costs less
than a sync for each row.
"""

import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from decide.evaluation.errors import ModelChangedError, RunError
from decide.evaluation.row import Row
from decide.evaluation.saved_run import Header, load
from decide.files import lock
from decision_client import ModelIdentity

SYNC_SECONDS = 1.0


class RunFile:
    """Appends to a run's file; close it, or use it as a context manager."""

    def __init__(self, path: Path, header: Header) -> None:
        """Begin the run of ``header`` in ``path``, or continue it.

        Raises:
            RunError: the file holds another run; it is left as it is.
            UsageError: another process writes to it.
            OSError: it cannot be read or written.
        """
        self.path = path
        self.done: dict[str, Row] = {}
        """Rows of earlier sessions, by their decision's id."""
        self.model: ModelIdentity | None = None
        """What answered so far."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._synced = time.monotonic()
        try:
            lock(self._descriptor, f"{path}: another command asks for this run; wait for it, or --save to another file")
            if path.stat().st_size > 0:
                self._continue(header)
            else:
                self._write(header.model_dump(mode="json"))
        except BaseException:
            os.close(self._descriptor)
            raise

    def _continue(self, header: Header) -> None:
        saved = load(self.path)
        mine, theirs = header.labels, saved.header.labels
        if mine.sha256 != theirs.sha256:
            raise RunError(
                f"{self.path} is a run of {theirs.name} (SHA-256 {theirs.sha256[:12]}…), and this is {mine.name} "
                f"({mine.sha256[:12]}…): the labels differ. Save to another file, or delete it"
            )
        flips_to_spare = saved.header.order_flips and saved.complete
        if header.order_flips != saved.header.order_flips and not flips_to_spare:
            began = "with" if saved.header.order_flips else "without"
            raise RunError(f"{self.path} was begun {began} --order-flips; continue it so, or save to another file")
        self.done = {row.id: row for row in saved.rows}
        self.model = saved.model
        if saved.size_bytes < self.path.stat().st_size:
            os.truncate(self.path, saved.size_bytes)

    def recognise(self, model: ModelIdentity) -> None:
        """Take note of what answers.

        Raises:
            ModelChangedError: it is not what answered before.
        """
        if self.model is None:
            self.model = model
            self._write({"model": model.model_dump(mode="json")})
            return
        before, now = deciding(self.model), deciding(model)
        changed = [f"{name} was {before[name]}, is {now[name]}" for name in before if before[name] != now[name]]
        if changed:
            raise ModelChangedError(
                f"another model answers than in the rows of {self.path} before: {'; '.join(changed)}. "
                "Save to another file"
            )

    def append(self, row: Row) -> None:
        """Add ``row``, with one call to the system."""
        self._write(row.model_dump(mode="json", exclude_defaults=True))
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self._sync()

    def close(self) -> None:
        """See that everything is on the disk."""
        self._sync()
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, line: dict[str, Any]) -> None:
        written = json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n"
        if os.write(self._descriptor, written) != len(written):
            raise OSError(f"{self.path}: only a part of a line could be written; is the disk full?")

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        self._synced = time.monotonic()


def deciding(model: ModelIdentity) -> dict[str, object]:
    """What of ``model`` decides about its answers.

    Threads and backends differ between the instances of one endpoint, and the prompt profile between decisions with
    few and many options, so they are not in it.
    """
    return {
        "the GGUF": model.gguf.sha256 if model.gguf else None,
        "the tokenizer": model.tokenizer.model_dump(mode="json") if model.tokenizer else None,
        "llama.cpp": model.llama_cpp.build if model.llama_cpp else None,
        "the calibration": model.calibration,
    }
