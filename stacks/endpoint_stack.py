"""The endpoints of one environment, and its transform jobs."""

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
from decision_constructs.served_environment import ServedEnvironment, ServedImage
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

        existing, encryption, images = settings.existing, settings.encryption, settings.images
        served = ServedEnvironment(
            environment,
            settings,
            model_data_url=published("model-data-url"),
            bucket=s3.Bucket.from_bucket_name(self, "Bucket", existing.bucket or published("bucket-name"))
            if settings.uses_bucket
            else None,
            encryption_key=kms.Key.from_key_arn(self, "Key", encryption.key_arn or published("kms-key-arn"))
            if encryption.kms_key
            else None,
        )
        ours = ecr.Repository.from_repository_name(
            self, "Repository", existing.repository or published("repository-name")
        ).repository_arn
        seen: list[tuple[SageMakerEndpoint, Endpoint]] = []
        if settings.chat:
            pulled = images.pulled(settings.chat.accelerator, settings.region)
            image = ServedImage(
                published("chat-image-uri"), ours if images.source == "copy" else repository_arn(pulled)
            )
            chat = ChatEndpoint(self, "Chat", environment=served, settings=settings.chat, image=image)
            seen.append((chat, settings.chat))
        if settings.decision:
            image = ServedImage(published("decision-image-uri"), ours)
            decision = DecisionEndpoint(self, "Decision", environment=served, settings=settings.decision, image=image)
            seen.append((decision, settings.decision))
        if settings.batch and settings.decision and served.bucket:
            BatchTransform(
                self,
                "Batch",
                environment=served,
                bucket=served.bucket,
                settings=settings.batch,
                decision=settings.decision,
                image_uri=published("batch-image-uri"),
                repository_arn=ours,
            )
        self._show(served, seen)

    def _show(self, served: ServedEnvironment, seen: list[tuple[SageMakerEndpoint, Endpoint]]) -> None:
        for construct, endpoint in seen:
            for warning in gpu_memory.warnings(served.settings.model, endpoint):
                Annotations.of(construct).add_warning_v2("decision-endpoints:gpu-memory", warning)
        if served.settings.monitoring.dashboard:
            EnvironmentDashboard(
                self,
                "Dashboard",
                environment=served.name,
                endpoints=[(construct.monitoring, endpoint) for construct, endpoint in seen],
            )
