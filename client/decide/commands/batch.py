"""`decide batch`: a file of requests, and a file of answers."""

import io
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from decide import output
from decide.batch.answer_file import AnswerFile, Totals
from decide.batch.live import Live
from decide.batch.records import BadLine, Record, grouped, records
from decide.batch.transform import ENDED, Job, Transform
from decide.errors import DecideError, ExitStatus, UsageError
from decide.files import STANDARD_INPUT, keep_apart, read_bytes
from decide.options import JsonOption, patient, with_target
from decide.progress import progress
from decide.target import Target
from decision_client import ClientSettings

EXAMPLES = (
    "decide batch decisions.jsonl --output answers.jsonl --env local",
    "decide batch decisions.jsonl --output answers.jsonl --env dev --concurrency 4",
    "decide batch decisions.jsonl --output answers.jsonl --env local --transform",
)
_PAUSES_SECONDS = (1.0, 2.0, 5.0, 10.0)
"""Between two looks at a job; the last from then on."""


@with_target
def batch(
    *,
    target: Target,
    file: Annotated[Path, typer.Argument(help="JSON Lines: decisions, or requests of any contract; - is stdin.")],
    answers: Annotated[Path, typer.Option("--output", "-o", help="Where answers go. What is there is gone on from.")],
    transform: Annotated[bool, typer.Option("--transform", help="By a transform job of the environment's.")] = False,
    instances: Annotated[int | None, typer.Option(min=1, help="Of the job; else those of the settings.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at a time to a live endpoint.")] = 1,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to ask a busy endpoint again.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Answer a file of requests, at a live endpoint or by a transform job, into a file in the same order.

    A bad line gets a line that says why. What has an answer already is not asked again, so the same command goes on
    after Ctrl-C or a failure. The exit status is 1 when a line has none.
    """
    if transform and not target.environment:
        raise UsageError("--transform needs the job that an environment defines: say --env, not --endpoint or --url")
    if instances is not None and not transform:
        raise UsageError("--instances is for --transform; for a live endpoint say --concurrency")
    keep_apart("--output", answers, file)
    started = time.perf_counter()
    settings = patient(wait, max_concurrency=concurrency)
    with _lines(file) as lines, AnswerFile(answers) as kept:
        digests, had, count = _looked_through(records(lines), kept)
        lines.seek(0)
        pending = _pending(records(lines), kept)
        if transform:
            state = answers.with_name(f"{answers.name}.job")
            with closing(Transform(str(target.environment), target.session(), settings, state)) as jobs:
                _by_job(jobs, list(pending), kept, instances)
        else:
            _live(target, settings, pending, kept, count)
        totals = kept.finish(digests)
    _report(totals, had, time.perf_counter() - started, answers, as_json)


def _lines(file: Path) -> BinaryIO:
    """The input, which is gone through twice."""
    if file == STANDARD_INPUT or not file.is_file():
        return io.BytesIO(read_bytes(file))
    return file.open("rb")


def _looked_through(found: Iterable[Record | BadLine], kept: AnswerFile) -> tuple[dict[int, str], int, int]:
    """The digests by number, and how many have an answer and how many are to be asked."""
    digests, had, count = dict[int, str](), 0, 0
    for one in found:
        digests[one.number] = one.digest
        known = kept.has(one.number, one.digest)
        had += known
        count += isinstance(one, Record) and not known
    return digests, had, count


def _pending(found: Iterable[Record | BadLine], kept: AnswerFile) -> Iterator[Record]:
    """The records without an answer; after the last, what bad lines are told goes into the output."""
    bad: list[BadLine] = []
    for one in found:
        if isinstance(one, BadLine):
            bad.append(one)
        elif not kept.has(one.number, one.digest):
            yield one
    kept.append(one.told() for one in bad)


def _live(target: Target, settings: ClientSettings, pending: Iterator[Record], kept: AnswerFile, count: int) -> None:
    with closing(Live(target.transport(settings), settings)) as live, progress() as bar:
        task = bar.add_task(f"asking {target}", total=count)

        def keep(lines: Any) -> None:
            kept.append(lines)
            bar.advance(task, len(lines))

        live.run(grouped(pending, settings.max_shared_decisions), keep)


def _by_job(jobs: Transform, pending: Sequence[Record], kept: AnswerFile, instances: int | None) -> None:
    """Have ``pending`` answered by a job; one that an earlier command started is followed first."""
    job = jobs.under_way()
    if job is not None:
        output.messages.print(f"following the transform job {job.name}, which was started before")
        _read(jobs, job, kept)
        pending = job.others(pending)
    if pending:
        job = jobs.start(pending, instances)
        output.messages.print(f"started the transform job {job.name}: {len(pending)} records")
        _read(jobs, job, kept)


def _read(jobs: Transform, job: Job, kept: AnswerFile) -> None:
    """Keep the answers of ``job`` once it has ended.

    Raises:
        DecideError: it failed; the answers of the files that it finished are kept.
    """
    status, reason = _follow(jobs, job)
    for part in jobs.done(job):
        kept.append(jobs.answers(job, part))
    jobs.forget()
    if status != "Completed":
        raise DecideError(
            f"the transform job {job.name} is {status}: {reason or 'no reason given'}; the answers of the files "
            "that it finished are kept, and the same command asks for the rest",
            ExitStatus.FAILED,
        )


def _follow(jobs: Transform, job: Job) -> tuple[str, str]:
    """How the job ended, and why."""
    pauses = iter(_PAUSES_SECONDS)
    pause = 0.0
    with progress() as bar:
        task = bar.add_task(job.name, total=sum(map(len, job.parts)))
        try:
            while True:
                status, reason = jobs.describe(job)
                if status in ENDED:
                    return status, reason
                bar.update(task, completed=sum(len(job.parts[part]) for part in jobs.done(job)), description=status)
                pause = next(pauses, pause)
                time.sleep(pause)
        except KeyboardInterrupt:
            output.warn(
                f"the job goes on; the same command follows it again, and this stops it: aws sagemaker "
                f"stop-transform-job --transform-job-name {job.name}"
            )
            raise


def _report(totals: Totals, had: int, seconds: float, answers: Path, as_json: bool) -> None:
    """Say how it went.

    Raises:
        Exit: a record has no answer.
    """
    if as_json:
        told = {"answered": totals.answered, "answered_before": had, "failed": totals.failed}
        output.print_json({**told, "seconds": round(seconds, 3), "output": str(answers)})
    else:
        before = f", {had} of them before" if had else ""
        sentence = f"{totals.answered} answered{before}, {totals.failed} failed, in {seconds:.1f} s: {answers}"
        output.results.print(output.plain(sentence), soft_wrap=True)
    if totals.failed:
        output.warn(f"the first without an answer is line {totals.first_failed}: {totals.why}")
        raise typer.Exit(ExitStatus.INCOMPLETE)
