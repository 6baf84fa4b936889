"""What endpoints are made of: the bucket, the repository, and the builds that fill them."""

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.container_image import ContainerImage
from decision_constructs.instance_type import Accelerator
from decision_constructs.model_artifact import ModelArtifact
from decision_constructs.settings import Settings


def parameter_name(environment: str, *path: str) -> str:
    """The SSM parameter that hands a build's output from this stack to the endpoints'."""
    return "/".join(["/decision-endpoints", environment, "artifacts", *path])


class ArtifactStack(Stack):
    """Builds each artifact once for its content and publishes where it is.

    The outputs travel by SSM parameter, not by export: CloudFormation refuses to change an export that is in use.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, environment: str, settings: Settings, **stack: object
    ) -> None:
        super().__init__(scope, construct_id, **stack)  # type: ignore[arg-type]  # Stack's own keywords, passed on
        destroy = settings.removal_policy == "destroy"
        removal_policy = RemovalPolicy.DESTROY if destroy else RemovalPolicy.RETAIN
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            removal_policy=removal_policy,
            auto_delete_objects=destroy,
        )
        self.repository = ecr.Repository(
            self,
            "Repository",
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            image_scan_on_push=True,
            removal_policy=removal_policy,
            empty_on_delete=destroy,
        )
        trigger = BuildTrigger(self, "BuildTrigger")
        model = ModelArtifact(self, "Model", model=settings.model, bucket=self.bucket, trigger=trigger)
        self._publish(environment, "model-data-url", model.model_data_url)
        for accelerator in Accelerator:
            image = ContainerImage(
                self,
                f"{accelerator.capitalize()}Image",
                accelerator=accelerator,
                images=settings.images,
                repository=self.repository,
            )
            served = settings.decision is not None and settings.decision.accelerator is accelerator
            in_bulk = settings.batch is not None and accelerator is Accelerator.CPU
            if served or in_bulk:
                uri = image.build(trigger)
                for name in [*(["decision"] if served else []), *(["batch"] if in_bulk else [])]:
                    self._publish(environment, f"{name}-image-uri", uri)

    def _publish(self, environment: str, name: str, value: str) -> None:
        ssm.StringParameter(
            self, f"{name}-parameter", parameter_name=parameter_name(environment, name), string_value=value
        )
