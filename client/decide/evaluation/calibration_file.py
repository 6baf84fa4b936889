"""`calibration.json`, as the endpoint reads it at the root of its model archive."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from decide.evaluation.calibration import FOLDS, Fitted
from decide.evaluation.comparison import SEED
from decide.evaluation.evidence import Evidence
from decide.evaluation.saved_run import SavedRun

NAME = "calibration.json"
DIGITS = 4
"""Of a temperature, behind the point; more would be noise."""
MAX_ID_CHARACTERS = 200


def content(fitted: Fitted, run: SavedRun, evidence: Evidence, calibration_id: str | None = None) -> dict[str, Any]:
    """What the file holds; the same for the same rows. Without an id it is named by its labels and its content."""
    temperatures = fitted.temperatures
    found: dict[str, Any] = {
        "temperature": round(temperatures.overall, DIGITS),
        "by_type": {kind: round(value, DIGITS) for kind, value in sorted(temperatures.by_type.items())},
        "by_option_count": {
            str(count): round(value, DIGITS) for count, value in sorted(temperatures.by_option_count.items())
        },
        "fitted_on": _origin(fitted, run, evidence),
    }
    sha256 = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(run.header.labels.name).stem)[:100]
    return {"id": calibration_id or f"{stem}-{sha256[:8]}", **found}


def write(path: Path, found: dict[str, Any]) -> None:
    """Write ``found``; the file is there whole or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)


def _origin(fitted: Fitted, run: SavedRun, evidence: Evidence) -> dict[str, Any]:
    model = run.model
    return {
        "labels": run.header.labels.model_dump(),
        "decisions": len(evidence),
        "model_sha256": model.gguf.sha256 if model and model.gguf else None,
        "prompt_profile": model.prompt_profile if model else None,
        "readout": evidence.readout,
        "folds": FOLDS,
        "seed": SEED,
        "out_of_fold": {
            name: {"before": round(getattr(fitted.before, name), 6), "after": round(getattr(fitted.after, name), 6)}
            for name in ("log_loss", "brier", "ece")
        },
    }
