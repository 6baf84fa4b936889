"""Decisions in bulk: a model for Batch Transform, and the definition of a job that a client completes and starts."""

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.batch import Batch
from decision_constructs.decision_endpoint import decision_environment
from decision_constructs.encryption_key import volume_key_arn
from decision_constructs.execution_role import WRITE_LOG, ExecutionRole
from decision_constructs.served_environment import ServedEnvironment
from decision_constructs.served_model import ServedModel
from decision_constructs.settings import DecisionEndpoint

INPUT_PREFIX = "batch/input/"
OUTPUT_PREFIX = "batch/output/"
_MEBIBYTE = 1 << 20
_MOST_PAYLOAD_MB = 100
"""SageMaker's limit of payload times concurrent requests."""
_MARGIN_SECONDS = 5
_JSON_LINES = "application/jsonlines"
"""A bad record is answered by one that says so, in its place; as JSON its status would end the whole job."""


class BatchTransform(Construct):
    """The image and the archive of the decision contract, in a role that reads and writes the batch folders alone.

    A transform job is started by an API call, not by a deployment; the parameter holds that call's arguments, but for
    the job's name, as JSON.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        environment: ServedEnvironment,
        bucket: s3.IBucket,
        settings: Batch,
        decision: DecisionEndpoint,
        image_uri: str,
        repository_arn: str,
    ) -> None:
        super().__init__(scope, construct_id)
        role = ExecutionRole(self, "Role", environment=environment, metrics_namespace="/aws/sagemaker/TransformJobs")
        role.allow_pull(repository_arn)
        _allow_jobs(role, bucket)
        model = ServedModel(
            self,
            "Model",
            environment=environment,
            role=role,
            image_uri=image_uri,
            container_environment=_environment(settings, decision),
            network_isolation=True,
        )
        job = _job(settings, decision, model.attr_model_name, bucket, environment.encryption_key)
        ssm.StringParameter(
            self,
            "TransformJob",
            parameter_name=f"/decision-endpoints/{environment.name}/batch/transform-job",
            description="What CreateTransformJob is given, but for TransformJobName",
            string_value=Stack.of(self).to_json_string(job),
        )


def _environment(settings: Batch, decision: DecisionEndpoint) -> dict[str, str]:
    """The endpoint's, on other instances and with more time for a record."""
    instance = {"SEMIF_N_GPU_LAYERS", "SEMIF_THREADS"}
    kept = {name: value for name, value in decision_environment(decision).items() if name not in instance}
    return {
        **kept,
        "SEMIF_N_GPU_LAYERS": "0",
        **({"SEMIF_THREADS": str(settings.threads)} if settings.threads else {}),
        # told by the container, not cut off by the platform
        "SEMIF_DEADLINE_SECONDS": str(settings.timeout_seconds - _MARGIN_SECONDS),
    }


def _job(
    settings: Batch, decision: DecisionEndpoint, model_name: str, bucket: s3.IBucket, encryption_key: kms.IKey | None
) -> dict[str, object]:
    volume_key = volume_key_arn(encryption_key, [settings.instance_type])
    payload_mb = -(-decision.max_body_bytes // _MEBIBYTE)
    source = {"S3DataType": "S3Prefix", "S3Uri": bucket.s3_url_for_object(INPUT_PREFIX)}
    return {
        "ModelName": model_name,
        "BatchStrategy": "SingleRecord",
        # one request a place: what is over that would be told that the container is busy
        "MaxConcurrentTransforms": min(decision.max_in_flight, _MOST_PAYLOAD_MB // payload_mb),
        "MaxPayloadInMB": payload_mb,
        "ModelClientConfig": {
            "InvocationsTimeoutInSeconds": settings.timeout_seconds,
            "InvocationsMaxRetries": settings.max_retries,
        },
        "TransformInput": {
            "DataSource": {"S3DataSource": source},
            "ContentType": _JSON_LINES,
            "SplitType": "Line",
        },
        "TransformOutput": {
            "S3OutputPath": bucket.s3_url_for_object(OUTPUT_PREFIX),
            "Accept": _JSON_LINES,
            "AssembleWith": "Line",
            **({"KmsKeyId": encryption_key.key_arn} if encryption_key else {}),
        },
        "TransformResources": {
            "InstanceType": settings.instance_type,
            "InstanceCount": settings.instance_count,
            **({"VolumeKmsKeyId": volume_key} if volume_key else {}),
        },
    }


def _allow_jobs(role: ExecutionRole, bucket: s3.IBucket) -> None:
    """Let jobs read input, write output, and write to the log of transform jobs."""
    objects = "The caller names the files of each job."
    role.allow(["s3:GetObject"], bucket.arn_for_objects(f"{INPUT_PREFIX}*"), wildcard=objects)
    role.allow(["s3:ListBucket"], bucket.bucket_arn, condition={"StringLike": {"s3:prefix": f"{INPUT_PREFIX}*"}})
    role.allow(
        ["s3:PutObject", "s3:AbortMultipartUpload"], bucket.arn_for_objects(f"{OUTPUT_PREFIX}*"), wildcard=objects
    )
    log_group = Stack.of(role).format_arn(
        service="logs",
        resource="log-group",
        resource_name="/aws/sagemaker/TransformJobs",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    # every transform job of the account writes there, so no stack owns the group: the first job makes it
    role.allow(["logs:CreateLogGroup"], log_group)
    role.allow(WRITE_LOG, f"{log_group}:*", wildcard="SageMaker names the log streams by job and instance.")
