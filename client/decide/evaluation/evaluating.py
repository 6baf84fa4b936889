"""`decide evaluate`, put together: runs in, what they come to out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from decide import output
from decide.errors import InputError, UsageError
from decide.evaluation import comparison as comparing
from decide.evaluation import session, summary
from decide.evaluation.comparison import Comparison
from decide.evaluation.saved_run import SavedRun, is_run, load
from decide.evaluation.session import Asking
from decide.evaluation.wording import Shown
from decide.target import Target
from decision_client import Policy


def evaluate(
    file: Path, target: Target | None, *, against: str | None, save: Path | None, policy: Policy, asking: Asking
) -> tuple[list[Shown], Comparison | None]:
    """The run of ``file`` and ``target``, and beside it, with ``against``, a second one and their comparison.

    Raises:
        DecideError, EndpointError: see `session.run_of`; or the two are not about the same labels.
    """
    runs = [session.run_of(file, target, save, asking)]
    if against is not None:
        runs.append(_other(file, target, against, asking))
        mine, theirs = (run.header.labels for run in runs)
        if mine.sha256 != theirs.sha256:
            output.warn(f"{mine.name} and {theirs.name} are not the same file; rows with the same id are compared")
    for run in runs:
        if not run.rows:
            raise InputError(f"the run of {run.header.endpoint} has no row yet; name the labels to go on with it")
        if not run.complete:
            output.warn(f"the run of {run.header.endpoint} has {len(run.rows)} of {run.header.labels.decisions} rows")
    shown = [Shown(name, run, summary.evaluate(run.rows, policy)) for name, run in zip("AB", runs, strict=False)]
    return shown, comparing.compare(*(one.rows for one in shown)) if len(shown) > 1 else None


def write_report(path: Path, shown: Sequence[Shown], comparison: Comparison | None) -> None:
    """Write the page to ``path``.

    Raises:
        InputError: it cannot be written.
    """
    from decide.evaluation import report  # noqa: PLC0415  # brings matplotlib, which a table does not need

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report.render(shown, comparison), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def as_json(shown: Sequence[Shown], comparison: Comparison | None) -> dict[str, Any]:
    """Everything that is printed, for programs."""
    return {
        "runs": [
            {
                "name": one.name,
                **one.run.header.model_dump(mode="json"),
                "model": one.run.model and one.run.model.model_dump(mode="json"),
                **one.evaluation.as_json(),
                "thresholds": [
                    {
                        "min_probability": point.threshold,
                        "accepted": summary.share_as_json(point.accepted),
                        "accepted_correct": summary.share_as_json(point.correct),
                    }
                    for point in summary.coverage_table(one.rows)
                ],
            }
            for one in shown
        ],
        "comparison": comparison and comparison.as_json(),
    }


def first_failure(one: Shown) -> str:
    """Why a row has no answer."""
    return next((f"{row.failure.kind}: {row.failure.message}" for row in one.rows if row.failure), "nothing")


def _other(file: Path, target: Target | None, against: str, asking: Asking) -> SavedRun:
    """The run to compare with. An environment is looked for where the first one is; no key is sent to another URL."""
    if Path(against).is_file():
        if not is_run(Path(against)):
            raise InputError(f"{against}: is no saved run; --against takes one, or a URL or an environment to ask")
        return load(Path(against))
    if is_run(file):
        raise UsageError(f"{file} is a saved run, so --against must be one, too: {against} is no file")
    if against.startswith(("http://", "https://")):
        return session.run_of(file, Target(url=against), None, asking)
    aws = Target() if target is None else Target(region=target.region, profile=target.profile)
    return session.run_of(file, replace(aws, environment=against), None, asking)
