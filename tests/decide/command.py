"""The real command, as a process."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 300
_ROOT = Path(__file__).parents[2]
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "OMP_WAIT_POLICY")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(**variables: str) -> dict[str, str]:
    """What a command sees: nothing of this process's AWS settings, and nobody's configuration files."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    nobody = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    alone = {"AWS_EC2_METADATA_DISABLED": "true", "PYTHONPATH": str(_ROOT / "client"), "COLUMNS": "160"}
    return {**kept, **nobody, **alone, **variables}


def decide(*arguments: str, given: str | bytes = "", cwd: Path | None = None, **variables: str) -> Ended:
    """Run `decide` to its end. It never shows a stack trace."""
    ended = subprocess.run(
        [sys.executable, "-m", "decide", *arguments],
        input=given.encode() if isinstance(given, str) else given,
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    out, err = ended.stdout.decode(), ended.stderr.decode()
    assert "Traceback" not in out + err, err
    return Ended(ended.returncode, out, err)
