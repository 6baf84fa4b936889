"""`decide calibrate`, put together: a run in, a calibration with its numbers out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decide import output
from decide.errors import InputError, UsageError
from decide.evaluation import calibration, calibration_file, session
from decide.evaluation.calibration import Fitted, Quality
from decide.evaluation.calibration_file import MAX_ID_CHARACTERS
from decide.evaluation.evidence import Evidence
from decide.evaluation.summary import share_as_json
from decide.target import Target


@dataclass(frozen=True)
class Calibrated:
    """A calibration that helps, and the file that holds it."""

    fitted: Fitted
    content: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Everything that is printed, for programs."""
        fitted = self.fitted
        return {
            "calibration": self.content,
            "way": fitted.way,
            "before": _quality(fitted.before),
            "after_out_of_fold": _quality(fitted.after),
            "gain": fitted.gain.as_json(),
            "tried": [{**vars(one), "gain": one.gain.as_json()} for one in fitted.tried],
        }


def calibrate(
    file: Path, target: Target | None, save: Path | None, wait_seconds: float, calibration_id: str | None
) -> Calibrated:
    """What the run of ``file`` and ``target`` supports.

    Raises:
        CalibrationError: nothing.
        DecideError, EndpointError: see `session.run_of`.
    """
    if calibration_id is not None and not 1 <= len(calibration_id.strip()) <= MAX_ID_CHARACTERS:
        raise UsageError(f"--id must have 1 to {MAX_ID_CHARACTERS} characters")
    run = session.run_of(file, target, save, session.Asking(order_flips=False, wait_seconds=wait_seconds))
    if not run.complete:
        output.warn(f"the run has {len(run.rows)} of {run.header.labels.decisions} rows")
    evidence = Evidence.of(run.rows)
    failed = len(run.rows) - len(evidence)
    if failed:
        output.warn(f"{failed} of {len(run.rows)} rows have no answer and are left out")
    if run.model and run.model.calibration:
        output.warn(
            f"the endpoint already divides by {run.model.calibration}; it is undone: the new temperatures are of the "
            "model's own logits, have to do better than that calibration, and replace it"
        )
    fitted = calibration.calibrate(evidence)
    return Calibrated(fitted, calibration_file.content(fitted, run, evidence, calibration_id))


def write(path: Path, content: dict[str, Any]) -> None:
    """Write the calibration to ``path``.

    Raises:
        InputError: it cannot be written.
    """
    try:
        calibration_file.write(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _quality(quality: Quality) -> dict[str, Any]:
    bins = [{**vars(one), "accuracy": share_as_json(one.accuracy)} for one in quality.bins]
    return {**vars(quality), "bins": bins}
