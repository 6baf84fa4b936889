"""The endpoints of one environment."""

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.batch_transform import BatchTransform
from decision_constructs.chat_endpoint import ChatEndpoint
from decision_constructs.decision_endpoint import DecisionEndpoint
from decision_constructs.settings import Settings
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

        served: dict[str, Any] = {
            "environment": environment,
            "model_data_url": published("model-data-url"),
            "bucket": artifacts.bucket,
        }
        if settings.chat:
            image_uri = settings.images.base(settings.chat.accelerator)
            ChatEndpoint(self, "Chat", settings=settings.chat, image_uri=image_uri, **served)
        if settings.decision:
            DecisionEndpoint(
                self,
                "Decision",
                settings=settings.decision,
                image_uri=published("decision-image-uri"),
                repository=artifacts.repository,
                **served,
            )
        if settings.batch and settings.decision:
            BatchTransform(
                self,
                "Batch",
                settings=settings.batch,
                decision=settings.decision,
                image_uri=published("batch-image-uri"),
                repository=artifacts.repository,
                **served,
            )
