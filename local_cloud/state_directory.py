"""Where one clone's cloud keeps everything it writes."""

import fcntl
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

_OF_ONE_RUN = ("builds", "data", "logs", "tmp")
_KEPT = ("cdk", "images", "models")


@dataclass(frozen=True)
class RunRecord:
    """What a running cloud says of itself. The command `decide` reads the port, by its name, from `.local/run.json`."""

    start_id: str
    pid: int
    port: int


@dataclass(frozen=True)
class StateDirectory:
    """The directory tree of one clone's cloud, `.local/` under the repository's root.

    builds/ data/ logs/ tmp/   of one run, emptied when a cloud starts
    images/ models/            addressed by content, kept: a second run finds what the first built
    cdk/                       what the CDK command remembers of this cloud
    bin/                       the `docker` stand-in
    run.json lock              who runs here
    """

    root: Path

    @property
    def builds(self) -> Path:
        """Working directories of builds."""
        return self.root / "builds"

    @property
    def data(self) -> Path:
        """What MiniStack stores."""
        return self.root / "data"

    @property
    def logs(self) -> Path:
        """The cloud's own log, and one file a build and a production variant."""
        return self.root / "logs"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the cloud and of all it starts."""
        return self.root / "tmp"

    @property
    def images(self) -> Path:
        """The image store."""
        return self.root / "images"

    @property
    def models(self) -> Path:
        """Extracted model archives."""
        return self.root / "models"

    @property
    def cdk(self) -> Path:
        """CDK_HOME."""
        return self.root / "cdk"

    @property
    def commands(self) -> Path:
        """First on the PATH of builds."""
        return self.root / "bin"

    @property
    def cloud_log(self) -> Path:
        """What the cloud's process prints."""
        return self.root / "logs" / "cloud.log"

    def create(self) -> None:
        """Make what is missing; touches nothing a running cloud uses."""
        for name in (*_OF_ONE_RUN, *_KEPT, "bin"):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def lock(self) -> IO[str] | None:
        """The locked lock file, or None when another process holds it; the lock ends with the file or the process."""
        file = (self.root / "lock").open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    def clean(self) -> None:
        """Remove what a run before left behind; only the holder of the lock may."""
        (self.root / "run.json").unlink(missing_ok=True)
        for name in _OF_ONE_RUN:
            for entry in (self.root / name).iterdir():
                if entry == self.cloud_log:
                    continue
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def write_run_record(self, record: RunRecord) -> None:
        """Say who runs here, in one step: a reader sees all of it or nothing."""
        partial = self.root / "run.json.partial"
        partial.write_text(json.dumps(asdict(record)))
        partial.replace(self.root / "run.json")

    def read_run_record(self) -> RunRecord | None:
        """What the last cloud said of itself; it may have ended since."""
        try:
            return RunRecord(**json.loads((self.root / "run.json").read_text()))
        except FileNotFoundError:
            return None
