"""What endpoints are made of: the bucket, the repository, and the builds that fill them."""

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.container_image import ContainerImage
from decision_constructs.encryption_key import encryption_key
from decision_constructs.model_artifact import ModelArtifact
from decision_constructs.settings import Settings
from decision_constructs.storage import artifact_bucket, image_repository


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
        removal_policy = RemovalPolicy.DESTROY if settings.removal_policy == "destroy" else RemovalPolicy.RETAIN
        key = encryption_key(
            self,
            settings.encryption,
            description=f"decision-endpoints {environment}",
            removal_policy=removal_policy,
        )
        bucket = artifact_bucket(self, settings, encryption_key=key, removal_policy=removal_policy)
        repository = image_repository(self, settings.existing, encryption_key=key, removal_policy=removal_policy)
        trigger = BuildTrigger(self, "BuildTrigger", encryption_key=key)
        model = ModelArtifact(self, "Model", model=settings.model, bucket=bucket, trigger=trigger, encryption_key=key)
        self._publish(environment, "model-data-url", model.model_data_url)
        self._publish(environment, "bucket-name", bucket.bucket_name)
        self._publish(environment, "repository-name", repository.repository_name)
        if key:
            self._publish(environment, "kms-key-arn", key.key_arn)
        for accelerator in settings.images.bases:
            image = ContainerImage(
                self,
                f"{accelerator.capitalize()}Image",
                accelerator=accelerator,
                images=settings.images,
                repository=repository,
                encryption_key=key,
            )
            if settings.decision and settings.decision.accelerator is accelerator:
                self._publish(environment, "decision-image-uri", image.build(trigger))

    def _publish(self, environment: str, name: str, value: str) -> None:
        ssm.StringParameter(
            self, f"{name}-parameter", parameter_name=parameter_name(environment, name), string_value=value
        )
