"""The endpoints of one environment, and its transform jobs."""

from typing import Any

from aws_cdk import Annotations, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs import gpu_memory
from decision_constructs.batch_transform import BatchTransform
from decision_constructs.chat_endpoint import ChatEndpoint
from decision_constructs.dashboard import EnvironmentDashboard
from decision_constructs.decision_endpoint import DecisionEndpoint
from decision_constructs.ecr_access import repository_arn
from decision_constructs.endpoint import SageMakerEndpoint
from decision_constructs.settings import Endpoint, Settings
from stacks.artifact_stack import ArtifactStack, parameter_name


class EndpointStack(Stack):
    """Serves the model archive in the contracts that the settings ask for."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        environment: str,
        settings: Settings,
        artifacts: ArtifactStack,
        **stack: object,
    ) -> None:
        super().__init__(scope, construct_id, **stack)  # type: ignore[arg-type]  # Stack's own keywords, passed on
        self.add_stack_dependency(artifacts)  # the parameters below are read when this stack is deployed

        def published(name: str) -> str:
            return ssm.StringParameter.value_for_string_parameter(self, parameter_name(environment, name))

        existing, encryption = settings.existing, settings.encryption
        served: dict[str, Any] = {
            "environment": environment,
            "shared": settings,
            "model_data_url": published("model-data-url"),
            "bucket": s3.Bucket.from_bucket_name(self, "Bucket", existing.bucket or published("bucket-name"))
            if settings.uses_bucket
            else None,
            "encryption_key": kms.Key.from_key_arn(self, "Key", encryption.key_arn or published("kms-key-arn"))
            if encryption.kms_key
            else None,
        }
        ours = ecr.Repository.from_repository_name(
            self, "Repository", existing.repository or published("repository-name")
        ).repository_arn
        seen: list[tuple[SageMakerEndpoint, Endpoint]] = []
        if settings.chat:
            image = settings.images.pulled(settings.chat.accelerator, settings.region)
            chat = ChatEndpoint(
                self,
                "Chat",
                settings=settings.chat,
                image_uri=published("chat-image-uri"),
                repository_arn=ours if settings.images.source == "copy" else repository_arn(image),
                **served,
            )
            seen.append((chat, settings.chat))
        if settings.decision:
            decision = DecisionEndpoint(
                self,
                "Decision",
                settings=settings.decision,
                image_uri=published("decision-image-uri"),
                repository_arn=ours,
                **served,
            )
            seen.append((decision, settings.decision))
            if settings.batch:
                BatchTransform(
                    self,
                    "Batch",
                    settings=settings.batch,
                    decision=settings.decision,
                    image_uri=published("batch-image-uri"),
                    repository_arn=ours,
                    **served,
                )
        for construct, endpoint in seen:
            for warning in gpu_memory.warnings(settings.model, endpoint):
                Annotations.of(construct).add_warning_v2("decision-endpoints:gpu-memory", warning)
        if settings.monitoring.dashboard:
            EnvironmentDashboard(
                self,
                "Dashboard",
                environment=environment,
                endpoints=[(construct.monitoring, endpoint) for construct, endpoint in seen],
            )
