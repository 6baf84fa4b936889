"""The same by a transform job of SageMaker's: many instances, which exist as long as the job.

What a job needs beyond its own definition is kept beside the output until its answers are there, so that a command that
was interrupted goes on following it.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from decide.batch.records import Record
from decide.errors import InputError
from decision_client import ClientSettings, NotFoundError, UnexpectedAnswerError
from decision_client.aws_errors import told_as_ours

PARTS_PER_INSTANCE = 4
"""Files of the input: an instance takes whole ones, so more of them share the work evenly and show how far it is."""
ENDED = ("Completed", "Failed", "Stopped")
_NEEDS = (
    "the caller needs ssm:GetParameter, sagemaker:CreateTransformJob and DescribeTransformJob, and of the "
    "environment's bucket s3:ListBucket, s3:PutObject below batch/input/ and s3:GetObject below batch/output/"
)


@dataclass(frozen=True)
class Job:
    """A job that was started, and which records are in which of its files."""

    name: str
    bucket: str
    input_prefix: str
    output_prefix: str
    parts: list[list[tuple[int, str, Any]]]
    """Of each file the records, as number, digest and label."""

    def others(self, records: Sequence[Record]) -> list[Record]:
        """Those of ``records`` that are not in it."""
        asked = {(number, digest) for part in self.parts for number, digest, _ in part}
        return [record for record in records if (record.number, record.digest) not in asked]

    def key(self, part: int) -> str:
        """Of a file, below a prefix."""
        return f"{part:04}.jsonl"


class Transform:
    """Starts, follows and reads the jobs of one environment."""

    def __init__(self, environment: str, session: boto3.Session, settings: ClientSettings, state: Path) -> None:
        """Keep what has to be remembered in the file ``state``."""
        config = Config(connect_timeout=settings.connect_seconds, retries={"mode": "standard"})
        self._environment = environment
        self._state = state
        self._ssm = session.client("ssm", config=config)
        self._s3 = session.client("s3", config=config)
        self._sagemaker = session.client("sagemaker", config=config)

    def under_way(self) -> Job | None:
        """The job that an earlier command started for the same output and did not read.

        Raises:
            InputError: what is remembered of it cannot be read.
        """
        try:
            told = json.loads(self._state.read_text("utf-8"))
            job = Job(**{**told, "parts": [[tuple(one) for one in part] for part in told["parts"]]})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise InputError(f"{self._state}: cannot be read ({error}); remove it to start another job") from error
        try:
            self.describe(job)
        except NotFoundError:  # interrupted before it was started
            self._state.unlink()
            return None
        return job

    def start(self, records: Sequence[Record], instances: int | None) -> Job:
        """A job for ``records``; on ``instances``, or as many as the environment's settings say.

        Raises:
            NotFoundError: the environment has no model for batch transform.
            EndpointError: AWS refused, or could not be asked.
        """
        definition = self._definition()
        if instances is not None:
            definition["TransformResources"]["InstanceCount"] = instances
        name = f"decide-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{records[0].digest[:6]}"
        source, target = definition["TransformInput"]["DataSource"]["S3DataSource"], definition["TransformOutput"]
        source["S3Uri"] += f"{name}/"
        target["S3OutputPath"] += f"{name}/"
        count = min(len(records), PARTS_PER_INSTANCE * definition["TransformResources"]["InstanceCount"])
        parts = [records[at * len(records) // count : (at + 1) * len(records) // count] for at in range(count)]
        bucket, prefix = _location(source["S3Uri"])
        kept = [[(one.number, one.digest, one.label) for one in part] for part in parts]
        job = Job(name, bucket, prefix, _location(target["S3OutputPath"])[1], kept)
        with told_as_ours(_NEEDS):
            for number, part in enumerate(parts):
                body = b"".join(record.body + b"\n" for record in part)
                self._s3.put_object(Bucket=bucket, Key=f"{prefix}{job.key(number)}", Body=body)
            self._state.write_text(json.dumps(asdict(job)), "utf-8")
            self._sagemaker.create_transform_job(TransformJobName=name, **definition)
        return job

    def describe(self, job: Job) -> tuple[str, str]:
        """The status of ``job``, and why it failed.

        Raises:
            NotFoundError: there is no such job.
            EndpointError: AWS could not be asked.
        """
        with told_as_ours(_NEEDS):
            told = self._sagemaker.describe_transform_job(TransformJobName=job.name)
        return told["TransformJobStatus"], told.get("FailureReason", "")

    def done(self, job: Job) -> list[int]:
        """The parts of ``job`` whose answers are there.

        Raises:
            EndpointError: AWS could not be asked.
        """
        with told_as_ours(_NEEDS):
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=job.bucket, Prefix=job.output_prefix)
            keys = {one["Key"] for page in pages for one in page.get("Contents", [])}
        return [part for part in range(len(job.parts)) if f"{job.output_prefix}{job.key(part)}.out" in keys]

    def answers(self, job: Job, part: int) -> Iterator[dict[str, Any]]:
        """The lines of the output for the records of a ``part``.

        Raises:
            UnexpectedAnswerError: there is not one for each.
            EndpointError: AWS could not be asked.
        """
        key = f"{job.output_prefix}{job.key(part)}.out"
        with told_as_ours(_NEEDS):
            content = self._s3.get_object(Bucket=job.bucket, Key=key)["Body"].read()
        lines = [line for line in content.split(b"\n") if line.strip()]
        if len(lines) != len(job.parts[part]):
            raise UnexpectedAnswerError(
                f"s3://{job.bucket}/{key} has {len(lines)} answers to {len(job.parts[part])} records", status=200
            )
        for (number, digest, label), line in zip(job.parts[part], lines, strict=True):
            answer = _answer(line, f"s3://{job.bucket}/{key}")
            labelled = {} if label is None or "status" in answer else {"label": label}
            yield {"line": number, "input": digest, **labelled, **{k: v for k, v in answer.items() if k != "line"}}

    def forget(self) -> None:
        """Its answers are there: the next command starts another."""
        self._state.unlink(missing_ok=True)

    def close(self) -> None:
        """Let connections go."""
        for client in (self._ssm, self._s3, self._sagemaker):
            client.close()

    def _definition(self) -> Any:
        """The arguments of CreateTransformJob, but for the name."""
        name = f"/decision-endpoints/{self._environment}/batch/transform-job"
        try:
            with told_as_ours(_NEEDS):
                return json.loads(self._ssm.get_parameter(Name=name)["Parameter"]["Value"])
        except NotFoundError as error:
            raise NotFoundError(
                f"environment {self._environment} has no model for batch transform; check the name and the region, or "
                "put [batch] into its settings and deploy"
            ) from error


def _answer(line: bytes, name: str) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise UnexpectedAnswerError(f"{name} has a line that is no JSON object", status=200)
    return answer


def _location(uri: str) -> tuple[str, str]:
    """Bucket and key of ``s3://bucket/key``."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key
