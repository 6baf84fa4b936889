"""The examples of docs/readouts.md are what they say they are."""

import json
import re
from pathlib import Path

from decision_adapter import calibration
from decision_adapter.contracts import semif


def test_the_examples_are_a_request_and_a_calibration(repository_root: Path, tmp_path: Path) -> None:
    page = (repository_root / "docs" / "readouts.md").read_text("utf-8")
    request, fitted = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    [decision] = semif.ask(json.loads(request), max_shared_decisions=1).decisions
    assert (decision.readout.order, decision.readout.preamble) == ("average", "marginal")
    (tmp_path / calibration.CALIBRATION).write_text(fitted)
    found = calibration.find(tmp_path, None)
    assert found is not None
    assert (found.of("noul", 2), found.of("choice", 3), found.of("choice", 4)) == (2.2, 1.6, 1.8)
