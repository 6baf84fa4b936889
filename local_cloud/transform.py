"""Batch transform jobs: instances of a model go through the objects below an S3 prefix, and end.

As at AWS an instance takes a whole object at a time, so that a job with several instances wants several objects. Within
an object up to MaxConcurrentTransforms requests are under way; the answers are put together in the order of the records
and stored as `<object>.out`. Objects that were done stay when the job fails at another.
"""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from local_cloud.container import Container
from local_cloud.errors import LocalCloudError, TransformError, ValidationError
from local_cloud.json_api import Operation, Parameters
from local_cloud.launcher import Launch, Launcher
from local_cloud.resources import TRANSFORM_JOB, Record, Table, now, page
from local_cloud.transform_requests import Payload, Sender, payloads

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

# The platform's defaults.
_MAX_PAYLOAD_MB = 6
_TIMEOUT_SECONDS = 600
_MAX_RETRIES = 3
_REASON_CHARACTERS = 1024


class TransformJobs:
    """The transform jobs of a cloud, by name."""

    def __init__(self, launcher: Launcher, models: Table[Record], s3: "S3Client") -> None:
        self._launcher = launcher
        self._models = models
        self._s3 = s3
        self._jobs: Table[TransformJob] = Table(TRANSFORM_JOB)
        self.operations: Mapping[str, Operation] = {
            "CreateTransformJob": self._create,
            "DescribeTransformJob": lambda p: self._jobs.get(p["TransformJobName"]).record,
            "StopTransformJob": self._stop,
            "ListTransformJobs": self._list,
        }

    def _create(self, parameters: Parameters) -> Parameters:
        problems = list(_problems(parameters))
        if problems:
            raise ValidationError(" ".join(problems))
        job = TransformJob(parameters, self._models.get(parameters["ModelName"]), self._launcher, self._s3)
        self._jobs.add(parameters["TransformJobName"], job)
        threading.Thread(target=job.run, name=f"transform-{parameters['TransformJobName']}", daemon=True).start()
        return {"TransformJobArn": job.record["TransformJobArn"]}

    def _stop(self, parameters: Parameters) -> Parameters:
        self._jobs.get(parameters["TransformJobName"]).stop()
        return {}

    def _list(self, parameters: Parameters) -> Parameters:
        found, following = page([job.record for job in self._jobs.items()], TRANSFORM_JOB, parameters)
        fields = ("TransformJobName", "TransformJobArn", "CreationTime", "TransformEndTime", "TransformJobStatus")
        return {"TransformJobSummaries": [{key: r[key] for key in fields if key in r} for r in found], **following}


class TransformJob:
    """One job. `record` is what DescribeTransformJob answers."""

    def __init__(self, asked: Parameters, model: Record, launcher: Launcher, s3: "S3Client") -> None:
        name = asked["TransformJobName"]
        described = {key: value for key, value in asked.items() if key != "Tags"}
        self.record: Record = {
            **described,
            "TransformJobArn": TRANSFORM_JOB.arn(name),
            "TransformJobStatus": "InProgress",
            "CreationTime": now(),
        }
        self._model = model
        self._launcher = launcher
        self._s3 = s3
        self._stopping = threading.Event()
        self._concurrent: int = asked.get("MaxConcurrentTransforms") or 1
        self._max_payload_bytes = (asked.get("MaxPayloadInMB") or _MAX_PAYLOAD_MB) << 20
        patience = asked.get("ModelClientConfig", {})
        self._timeout_seconds: int = patience.get("InvocationsTimeoutInSeconds", _TIMEOUT_SECONDS)
        self._max_retries: int = patience.get("InvocationsMaxRetries", _MAX_RETRIES)

    def stop(self) -> None:
        """Let no more requests begin.

        Raises:
            ValidationError: the job has ended.
        """
        if self.record["TransformJobStatus"] not in ("InProgress", "Stopping"):
            raise ValidationError(
                f"The request was rejected because the transform job is in status {self.record['TransformJobStatus']}."
            )
        self.record["TransformJobStatus"] = "Stopping"
        self._stopping.set()

    def run(self) -> None:
        """Go through all objects and say how it went."""
        self.record["TransformStartTime"] = now()
        try:
            failures = self._transform_all()
        except Exception as error:  # noqa: BLE001  # whatever it is, the job must end and tell
            failures = [str(error) if isinstance(error, LocalCloudError) else f"{type(error).__name__}: {error}"]
        if failures and not self._stopping.is_set():
            self.record["FailureReason"] = "\n".join(failures)[:_REASON_CHARACTERS]
        self.record["TransformEndTime"] = now()
        ended = "Stopped" if self._stopping.is_set() else "Failed" if failures else "Completed"
        self.record["TransformJobStatus"] = ended

    def _transform_all(self) -> list[str]:
        """Why objects failed, a sentence each."""
        source = self.record["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"]
        bucket, prefix = _location(source)
        listing = self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        keys = [one["Key"] for found in listing for one in found.get("Contents", []) if not one["Key"].endswith("/")]
        if not keys:
            raise TransformError(f"No S3 objects found under {source}.")
        waiting, failures = iter(keys), list[str]()
        taking = threading.Lock()

        def work() -> None:
            container = self._start_instance()
            try:
                while not self._stopping.is_set():
                    with taking:
                        key = next(waiting, None)
                    if key is None:
                        return
                    try:
                        self._transform(container, bucket, key, _output_key(key, prefix))
                    except TransformError as error:
                        failures.append(str(error))
            finally:
                container.stop()

        # More instances than objects would idle; AWS starts them nevertheless.
        count = min(self.record["TransformResources"]["InstanceCount"], len(keys))
        with ThreadPoolExecutor(count) as pool:
            working = [pool.submit(work) for _ in range(count)]
        for one in working:
            one.result()
        return failures

    def _start_instance(self) -> Container:
        name, record = self.record["TransformJobName"], self.record
        environment = {
            **record.get("Environment", {}),
            "SAGEMAKER_BATCH": "true",
            "SAGEMAKER_BATCH_STRATEGY": record.get("BatchStrategy", "MultiRecord"),
            "SAGEMAKER_MAX_CONCURRENT_TRANSFORMS": str(self._concurrent),
            "SAGEMAKER_MAX_PAYLOAD_IN_MB": str(self._max_payload_bytes >> 20),
        }
        launch = Launch(
            self._model,
            purpose=f"transform job {name}",
            log_group="/aws/sagemaker/TransformJobs",
            log_folder="transform-jobs",
            stream_prefix=name,
            environment=environment,
        )
        return self._launcher.start(launch)

    def _transform(self, container: Container, bucket: str, key: str, output_key: str) -> None:
        """One object.

        Raises:
            TransformError: a record was refused, or not answered however often it was sent.
        """
        content = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        with httpx2.Client(trust_env=False, timeout=self._timeout_seconds) as client:
            send = Sender(
                client,
                container,
                source=f"s3://{bucket}/{key}",
                headers=self._headers(),
                max_payload_bytes=self._max_payload_bytes,
                max_retries=self._max_retries,
                stopping=self._stopping,
            )
            records = 1 if self.record.get("BatchStrategy") == "SingleRecord" else None
            by_line = self.record["TransformInput"].get("SplitType") == "Line"
            bodies = payloads(content, self._max_payload_bytes, records) if by_line else [Payload(1, content)]
            with ThreadPoolExecutor(self._concurrent) as pool:
                # The first failure cancels what has not been sent yet.
                answers = list(pool.map(send, bodies))
        if self._stopping.is_set():
            return
        end = b"\n" if self.record["TransformOutput"].get("AssembleWith") == "Line" else b""
        target, path = _location(self.record["TransformOutput"]["S3OutputPath"])
        destination = str(PurePosixPath(path) / output_key)
        body = b"".join(answer.removesuffix(b"\n") + end if end else answer for answer in answers)
        self._s3.put_object(Bucket=target, Key=destination, Body=body)

    def _headers(self) -> dict[str, str]:
        asked = {
            "Content-Type": self.record["TransformInput"].get("ContentType"),
            "Accept": self.record["TransformOutput"].get("Accept"),
        }
        return {name: value for name, value in asked.items() if value}


def _problems(asked: Parameters) -> Iterator[str]:
    """What AWS would refuse, and what the local cloud lacks."""
    source = asked["TransformInput"]
    if source["DataSource"]["S3DataSource"]["S3DataType"] != "S3Prefix":
        yield "The local cloud takes S3DataType S3Prefix."
    if source.get("CompressionType", "None") != "None":
        yield "The local cloud takes CompressionType None."
    split = source.get("SplitType", "None")
    if split not in ("None", "Line"):
        yield "The local cloud takes SplitType None or Line."
    if split == "None" and asked.get("BatchStrategy") == "MultiRecord":
        yield "BatchStrategy MultiRecord needs a SplitType."
    if asked.get("DataProcessing"):
        yield "The local cloud has no DataProcessing."
    together = (asked.get("MaxConcurrentTransforms") or 1) * (asked.get("MaxPayloadInMB") or _MAX_PAYLOAD_MB)
    if together > 100:
        yield f"MaxConcurrentTransforms * MaxPayloadInMB is {together}; it must not exceed 100."


def _location(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri)
    return parts.netloc, parts.path.lstrip("/")


def _output_key(key: str, prefix: str) -> str:
    """`batch/input/a/b.jsonl` below the prefix `batch/input/` → `a/b.jsonl.out`."""
    folder = prefix.rpartition("/")[0]
    return f"{key.removeprefix(folder).lstrip('/')}.out"
