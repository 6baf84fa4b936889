"""Batch transform jobs through boto3."""

import json

import pytest
from botocore.exceptions import ClientError


@pytest.fixture(scope="module")
def bucket(workshop, unique) -> str:
    name = unique("batch")
    workshop.client("s3").create_bucket(Bucket=name)
    return name


@pytest.fixture(scope="module")
def model(workshop, stub_image, stub_archive) -> str:
    return workshop.model(stub_image, stub_archive, STUB_NAME="batch")


class Batch:
    """Jobs over objects below one prefix."""

    def __init__(self, workshop, bucket: str, model: str, unique, eventually) -> None:
        self._workshop, self._bucket, self._model, self._eventually = workshop, bucket, model, eventually
        self._name = unique("job")

    def put(self, **lines: list[dict]) -> None:
        for name, records in lines.items():
            body = "".join(json.dumps(record) + "\n" for record in records)
            self._workshop.client("s3").put_object(
                Bucket=self._bucket, Key=f"{self._name}/in/{name}.jsonl", Body=body.encode()
            )

    def start(self, *, instances: int = 1, **job) -> None:
        source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{self._bucket}/{self._name}/in/"}
        self._workshop.client("sagemaker").create_transform_job(
            **{
                "TransformJobName": self._name,
                "ModelName": self._model,
                "BatchStrategy": "SingleRecord",
                "TransformInput": {
                    "DataSource": {"S3DataSource": source},
                    "SplitType": "Line",
                    "ContentType": "application/json",
                },
                "TransformOutput": {"S3OutputPath": f"s3://{self._bucket}/{self._name}/out/", "AssembleWith": "Line"},
                "TransformResources": {"InstanceType": "ml.c6i.large", "InstanceCount": instances},
                **job,
            }
        )

    def ended(self) -> dict:
        def describe() -> dict | None:
            found = self._workshop.client("sagemaker").describe_transform_job(TransformJobName=self._name)
            return None if found["TransformJobStatus"] in ("InProgress", "Stopping") else found

        return self._eventually(describe)

    def stop(self) -> None:
        self._workshop.client("sagemaker").stop_transform_job(TransformJobName=self._name)

    def output(self, name: str) -> str:
        key = f"{self._name}/out/{name}.jsonl.out"
        return self._workshop.client("s3").get_object(Bucket=self._bucket, Key=key)["Body"].read().decode()

    def outputs(self) -> list[str]:
        listed = self._workshop.client("s3").list_objects_v2(Bucket=self._bucket, Prefix=f"{self._name}/out/")
        return [one["Key"].rpartition("/")[2] for one in listed.get("Contents", [])]


@pytest.fixture
def batch(workshop, bucket, model, unique, eventually) -> Batch:
    return Batch(workshop, bucket, model, unique, eventually)


def test_answers_come_in_the_order_of_the_records_however_long_each_takes(batch):
    batch.put(records=[{"answer": str(number), "sleep": 0.4 - number / 10} for number in range(4)])

    batch.start(MaxConcurrentTransforms=4)

    ended = batch.ended()
    assert ended["TransformJobStatus"] == "Completed"
    assert ended["TransformEndTime"] >= ended["TransformStartTime"]
    assert batch.output("records") == "0\n1\n2\n3\n"


def test_every_instance_takes_objects_and_each_object_has_its_output(batch):
    batch.put(**{name: [{"sleep": 0.5}] for name in ("a", "b", "c")})

    batch.start(instances=2)

    assert batch.ended()["TransformJobStatus"] == "Completed"
    answers = [json.loads(batch.output(name)) for name in ("a", "b", "c")]
    assert len({answer["environment"]["SEMIF_PORT"] for answer in answers}) == 2
    assert {answer["content_type"] for answer in answers} == {"application/json"}


def test_a_record_that_is_refused_fails_the_job_and_is_named_with_its_log(batch, bucket):
    batch.put(bad=[{"answer": "fine"}, {"status": 400, "answer": "no options"}], good=[{"answer": "fine"}])

    batch.start()

    ended = batch.ended()
    assert ended["TransformJobStatus"] == "Failed"
    assert f"s3://{bucket}/" in ended["FailureReason"]
    assert "bad.jsonl, line 2 (log: " in ended["FailureReason"]
    assert ended["FailureReason"].endswith("status 400: no options")
    assert batch.outputs() == ["good.jsonl.out"]


def test_a_record_that_fails_on_and_on_is_given_up_after_the_retries(batch):
    batch.put(busy=[{"status": 503, "answer": "busy"}])

    batch.start(ModelClientConfig={"InvocationsMaxRetries": 1, "InvocationsTimeoutInSeconds": 5})

    assert batch.ended()["FailureReason"].endswith("status 503: busy")


def test_a_record_over_the_payload_limit_fails_the_job(batch):
    batch.put(large=[{"answer": "x" * (1 << 20)}])

    batch.start(MaxPayloadInMB=1)

    assert batch.ended()["FailureReason"].endswith("bytes; MaxPayloadInMB allows 1 MB")


def test_several_records_share_a_request_when_asked(batch):
    batch.put(records=[{"n": 1}, {"n": 2}, {"n": 3}])

    batch.start(BatchStrategy="MultiRecord")

    assert batch.ended()["TransformJobStatus"] == "Failed"  # the stub reads one JSON text, and got three lines


def test_a_job_that_is_stopped_ends_its_containers(batch, workshop):
    batch.put(long=[{"sleep": 0.2}] * 1000)
    batch.start()

    batch.stop()

    assert batch.ended()["TransformJobStatus"] == "Stopped"
    assert batch.outputs() == []
    with pytest.raises(ClientError, match="the transform job is in status Stopped"):
        batch.stop()


def test_a_job_without_input_says_where_it_looked(batch):
    batch.start()

    assert batch.ended()["FailureReason"].startswith("No S3 objects found under s3://")


def test_jobs_are_listed_by_status(batch, workshop):
    batch.put(one=[{}])
    batch.start()
    name = batch.ended()["TransformJobName"]

    listed = workshop.client("sagemaker").list_transform_jobs(StatusEquals="Completed")["TransformJobSummaries"]

    assert name in [job["TransformJobName"] for job in listed]


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ({"MaxConcurrentTransforms": 51, "MaxPayloadInMB": 2}, r"MaxConcurrentTransforms \* MaxPayloadInMB is 102"),
        ({"DataProcessing": {"JoinSource": "Input"}}, "has no DataProcessing"),
        ({"ModelName": "none"}, "Could not find model"),
    ],
)
def test_a_job_that_could_not_run_is_refused(batch, job, reason):
    with pytest.raises(ClientError, match=reason):
        batch.start(**job)
