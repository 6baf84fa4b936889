"""`python -m preflight <environment>`."""

import os
import subprocess
import sys
from pathlib import Path


def test_an_environment_that_does_not_exist_is_told_before_anything_is_asked(repository_root: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "preflight", "prd"],
        cwd=repository_root,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(repository_root / "constructs")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert process.stdout == ""
    assert "environments/prd.toml does not exist" in process.stderr
    assert "Traceback" not in process.stderr
