"""Decisions in bulk: a model for Batch Transform, and the definition of a job that a client completes and starts."""

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.batch import Batch
from decision_constructs.decision_endpoint import decision_environment
from decision_constructs.model_artifact import MODEL_PREFIX
from decision_constructs.settings import DecisionEndpoint

INPUT_PREFIX = "batch/input/"
OUTPUT_PREFIX = "batch/output/"
_MEBIBYTE = 1 << 20
_MOST_PAYLOAD_MB = 100
"""SageMaker's limit of payload times concurrent requests."""
_MARGIN_SECONDS = 5


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
        environment: str,
        settings: Batch,
        decision: DecisionEndpoint,
        image_uri: str,
        repository: ecr.IRepository,
        model_data_url: str,
        bucket: s3.IBucket,
    ) -> None:
        super().__init__(scope, construct_id)
        role = _execution_role(self, bucket)
        repository.grant_pull(role)
        model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            enable_network_isolation=True,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image_uri, model_data_url=model_data_url, environment=_environment(settings, decision)
            ),
        )
        model.node.add_dependency(role)  # with its policies: SageMaker reads archive and image as soon as it can
        ssm.StringParameter(
            self,
            "TransformJob",
            parameter_name=f"/decision-endpoints/{environment}/batch/transform-job",
            description="What CreateTransformJob is given, but for TransformJobName",
            string_value=Stack.of(self).to_json_string(_job(settings, decision, model.attr_model_name, bucket)),
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


def _job(settings: Batch, decision: DecisionEndpoint, model_name: str, bucket: s3.IBucket) -> dict[str, object]:
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
            "ContentType": "application/json",
            "SplitType": "Line",
        },
        "TransformOutput": {
            "S3OutputPath": bucket.s3_url_for_object(OUTPUT_PREFIX),
            "Accept": "application/json",
            "AssembleWith": "Line",
        },
        "TransformResources": {"InstanceType": settings.instance_type, "InstanceCount": settings.instance_count},
    }


def _execution_role(scope: Construct, bucket: s3.IBucket) -> iam.Role:
    """Reads archives and input, writes output, log streams of transform jobs and their metrics; nothing else."""
    log_group = Stack.of(scope).format_arn(
        service="logs",
        resource="log-group",
        resource_name="/aws/sagemaker/TransformJobs",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    role = iam.Role(scope, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    for statement in (
        iam.PolicyStatement(
            actions=["s3:GetObject"],
            resources=[bucket.arn_for_objects(f"{prefix}*") for prefix in (MODEL_PREFIX, INPUT_PREFIX)],
        ),
        iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[bucket.bucket_arn],
            conditions={"StringLike": {"s3:prefix": f"{INPUT_PREFIX}*"}},
        ),
        iam.PolicyStatement(
            actions=["s3:PutObject", "s3:AbortMultipartUpload"],
            resources=[bucket.arn_for_objects(f"{OUTPUT_PREFIX}*")],
        ),
        iam.PolicyStatement(
            actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
            resources=[log_group, f"{log_group}:*"],
        ),
        # PutMetricData knows no resources; the namespace narrows it
        iam.PolicyStatement(
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": "/aws/sagemaker/TransformJobs"}},
        ),
    ):
        role.add_to_policy(statement)
    return role
