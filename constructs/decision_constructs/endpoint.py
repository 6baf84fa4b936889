"""A SageMaker real-time endpoint: role, model, endpoint config, endpoint, and the parameter that names it."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.data_capture import DataCapture
from decision_constructs.encryption_key import volume_key_arn
from decision_constructs.execution_role import WRITE_LOG, ExecutionRole
from decision_constructs.image_settings import Images
from decision_constructs.monitoring import EndpointMonitoring
from decision_constructs.safe_update import SafeUpdate
from decision_constructs.served_environment import ServedEnvironment, ServedImage
from decision_constructs.served_model import ServedModel
from decision_constructs.settings import Endpoint
from decision_constructs.variant_scaling import VariantScaling

_VARIANT = "AllTraffic"


class SageMakerEndpoint(Construct):
    """One model behind one production variant.

    The endpoint's name is stable, the model's and the config's are made by CloudFormation: a change replaces both and
    the endpoint moves to them, new before old.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        environment: ServedEnvironment,
        settings: Endpoint,
        image: ServedImage,
        container_environment: Mapping[str, str],
        network_isolation: bool,
    ) -> None:
        """Declare it.

        Args:
            scope: where it belongs.
            construct_id: its id, and the contract it speaks: the endpoint is `decision-endpoints-<environment>-<id>`.
            environment: what it shares with others.
            settings: instances, time-outs, GPU, updates, scaling, alarms.
            image: the container.
            container_environment: what the container reads.
            network_isolation: whether the container is kept from making calls of its own.
        """
        super().__init__(scope, construct_id)
        self._environment, self._settings = environment, settings
        self._contract = construct_id.lower()
        self._name = f"decision-endpoints-{environment.name}-{self._contract}"
        self.monitoring = self._watch()
        self.role = self._role(image)
        model = ServedModel(
            self,
            "Model",
            environment=environment,
            role=self.role,
            image_uri=image.uri,
            container_environment=container_environment,
            network_isolation=network_isolation,
        )
        self._publish(self._serve(self._config(model)))

    def _watch(self) -> EndpointMonitoring:
        return EndpointMonitoring(
            self,
            "Monitoring",
            endpoint_name=self._name,
            variant_name=_VARIANT,
            settings=self._settings,
            monitoring=self._environment.settings.monitoring,
            encryption_key=self._environment.encryption_key,
        )

    def _role(self, image: ServedImage) -> ExecutionRole:
        role = ExecutionRole(self, "Role", environment=self._environment, metrics_namespace="/aws/sagemaker/Endpoints")
        # no CreateLogGroup: the group is the stack's, and SageMaker's last words must not make it anew when it is gone
        role.allow(WRITE_LOG, self.monitoring.log_group.log_group_arn)
        if image.repository_arn:
            role.allow_pull(image.repository_arn)
        return role

    def _config(self, model: ServedModel) -> sagemaker.CfnEndpointConfig:
        capture = DataCapture(self._settings.data_capture, self._contract, self._environment)
        capture.allow(self.role)
        images = self._environment.settings.images
        return sagemaker.CfnEndpointConfig(
            self,
            "Config",
            production_variants=[_production_variant(self._settings, images, model.attr_model_name)],
            data_capture_config=capture.config,
            kms_key_id=volume_key_arn(self._environment.encryption_key, self._settings.instance_types),
        )

    def _serve(self, config: sagemaker.CfnEndpointConfig) -> sagemaker.CfnEndpoint:
        update = SafeUpdate(
            self,
            "Update",
            settings=self._settings,
            endpoint_name=self._name,
            metrics=self.monitoring.metrics,
            role=self.role,
        )
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=self._name,
            endpoint_config_name=config.attr_endpoint_config_name,
            deployment_config=update.deployment_config,
            **_retained(self._settings),
        )
        endpoint.node.add_dependency(self.monitoring)  # its log group: SageMaker would make one that is kept for ever
        if self._settings.scaling:
            VariantScaling(
                self,
                "Scaling",
                settings=self._settings.scaling,
                endpoint_name=endpoint.attr_endpoint_name,
                variant_name=_VARIANT,
            )
        return endpoint

    def _publish(self, endpoint: sagemaker.CfnEndpoint) -> None:
        """Say its name where clients look: in a parameter, and in the stack's outputs."""
        ssm.StringParameter(
            self,
            "EndpointName",
            parameter_name=f"/decision-endpoints/{self._environment.name}/{self._contract}/endpoint-name",
            description=f"The SageMaker endpoint that speaks the {self._contract} contract",
            string_value=endpoint.attr_endpoint_name,
        )
        CfnOutput(Stack.of(self), f"{self.node.id}EndpointName", value=endpoint.attr_endpoint_name)


def _retained(settings: Endpoint) -> dict[str, Any]:
    """An update of a scaled endpoint keeps the instances that the load asks for; what is captured may change."""
    if not settings.scaling:
        return {}
    captured = sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type="DataCaptureConfig")
    return {"retain_all_variant_properties": True, "exclude_retained_variant_properties": [captured]}


def _production_variant(
    settings: Endpoint, images: Images, model_name: str
) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
    pools = [
        sagemaker.CfnEndpointConfig.InstancePoolProperty(instance_type=name, priority=priority)
        for priority, name in enumerate(settings.instance_pools, start=1)
    ]
    return sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        variant_name=_VARIANT,
        model_name=model_name,
        initial_instance_count=settings.instance_count,
        initial_variant_weight=1,
        instance_type=settings.instance_type,
        instance_pools=pools or None,
        variant_instance_provision_timeout_in_seconds=settings.provision_timeout_seconds,
        container_startup_health_check_timeout_in_seconds=settings.startup_timeout_seconds,
        model_data_download_timeout_in_seconds=settings.download_timeout_seconds,
        inference_ami_version=settings.inference_ami_version(images),
        routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(routing_strategy="LEAST_OUTSTANDING_REQUESTS"),
    )
