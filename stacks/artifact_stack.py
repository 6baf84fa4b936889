"""What endpoints are made of: the bucket, the repository, and the builds that fill them."""

from functools import cache
from typing import Any

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.container_image import ContainerImage
from decision_constructs.encryption_key import encryption_key
from decision_constructs.image_copy import ImageCopy
from decision_constructs.instance_type import Accelerator
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
        repository = image_repository(self, settings.existing, encryption_key=key, removal_policy=removal_policy)
        build: dict[str, Any] = {"encryption_key": key, "build_role": settings.existing.build_role}

        @cache
        def trigger() -> BuildTrigger:
            return BuildTrigger(self, "BuildTrigger", encryption_key=key)

        published = {"repository-name": repository.repository_name}
        if key:
            published["kms-key-arn"] = key.key_arn
        if settings.uses_bucket:
            bucket = artifact_bucket(self, settings, encryption_key=key, removal_policy=removal_policy)
            published["bucket-name"] = bucket.bucket_name
        if settings.model.archive_uri:
            published["model-data-url"] = settings.model.archive_uri
        else:
            model = ModelArtifact(self, "Model", model=settings.model, bucket=bucket, trigger=trigger(), **build)
            published["model-data-url"] = model.model_data_url

        images: dict[str, Any] = {"repository": repository, **build}

        @cache
        def copy_uri(first: Accelerator) -> str:
            image, platform = settings.images.pulled(first, settings.region), first.platform
            name = f"{first.capitalize()}Copy"
            return ImageCopy(self, name, image=image, platform=platform, trigger=trigger(), **images).uri

        def base_uri(accelerator: Accelerator) -> str:
            if settings.images.source == "copy":
                return copy_uri(settings.images.first_with_the_same(accelerator))
            return str(settings.images.pulled(accelerator, settings.region))

        @cache
        def decision_image_uri(accelerator: Accelerator) -> str:
            pushed = settings.pushed_image_digest(accelerator)
            if pushed:
                return f"{repository.repository_uri}@{pushed}"
            return ContainerImage(
                self,
                f"{accelerator.capitalize()}Image",
                accelerator=accelerator,
                base=settings.images.pulled(accelerator, settings.region),
                base_uri=base_uri(accelerator),
                trigger=trigger(),
                **images,
            ).uri

        if settings.chat:
            published["chat-image-uri"] = base_uri(settings.chat.accelerator)
        for name, accelerator in settings.decision_containers.items():
            published[f"{name}-image-uri"] = decision_image_uri(accelerator)
        for name, value in published.items():
            ssm.StringParameter(
                self, f"{name}-parameter", parameter_name=parameter_name(environment, name), string_value=value
            )
