"""A SageMaker real-time endpoint: role, model, endpoint config, endpoint, and the parameter that names it."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.data_capture import DataCapture
from decision_constructs.encryption_key import volume_key_arn
from decision_constructs.execution_role import WRITE_LOG, ExecutionRole
from decision_constructs.image_settings import Images
from decision_constructs.monitoring import EndpointMonitoring
from decision_constructs.safe_update import SafeUpdate
from decision_constructs.served_model import ServedModel
from decision_constructs.settings import Endpoint, Settings
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
        environment: str,
        settings: Endpoint,
        shared: Settings,
        image_uri: str,
        repository_arn: str | None,
        container_environment: Mapping[str, str],
        model_data_url: str,
        bucket: s3.IBucket | None,
        encryption_key: kms.IKey | None,
        network_isolation: bool,
    ) -> None:
        """Declare it.

        Args:
            scope: where it belongs.
            construct_id: its id, and the contract it speaks: the endpoint is `decision-endpoints-<environment>-<id>`.
            environment: the environment's name.
            settings: instances, time-outs, GPU, updates, scaling, alarms.
            shared: the environment's settings: network, roles, logs.
            image_uri: the container, by digest.
            repository_arn: the repository that it is pulled from; None when anybody may pull it.
            container_environment: what the container reads.
            model_data_url: the model archive.
            bucket: where the archive lies and captured data goes; None when both are elsewhere.
            encryption_key: what encrypts archive, log, captured data and volumes; None for AWS's own keys.
            network_isolation: whether the container is kept from making calls of its own.
        """
        super().__init__(scope, construct_id)
        contract = construct_id.lower()
        name = f"decision-endpoints-{environment}-{contract}"
        self.monitoring = EndpointMonitoring(
            self,
            "Monitoring",
            endpoint_name=name,
            variant_name=_VARIANT,
            settings=settings,
            monitoring=shared.monitoring,
            encryption_key=encryption_key,
        )
        self.role = ExecutionRole(
            self,
            "Role",
            existing=shared.existing.endpoint_role,
            bucket=bucket,
            archive_uri=shared.model.archive_uri,
            metrics_namespace="/aws/sagemaker/Endpoints",
            network=shared.network,
            encryption_key=encryption_key,
        )
        # no CreateLogGroup: the group is the stack's, and SageMaker's last words must not make it anew when it is gone
        self.role.allow(WRITE_LOG, self.monitoring.log_group.log_group_arn)
        if repository_arn:
            self.role.allow_pull(repository_arn)
        capture = DataCapture(settings.data_capture, contract, bucket=bucket, encryption_key=encryption_key)
        capture.allow(self.role)
        model = ServedModel(
            self,
            "Model",
            role=self.role,
            network=shared.network,
            network_isolation=network_isolation,
            image_uri=image_uri,
            model_data_url=model_data_url,
            container_environment=container_environment,
        )
        config = sagemaker.CfnEndpointConfig(
            self,
            "Config",
            production_variants=[_production_variant(settings, shared.images, model.attr_model_name)],
            data_capture_config=capture.config,
            kms_key_id=volume_key_arn(encryption_key, settings.instance_types),
        )
        update = SafeUpdate(
            self, "Update", settings=settings, endpoint_name=name, metrics=self.monitoring.metrics, role=self.role
        )
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=name,
            endpoint_config_name=config.attr_endpoint_config_name,
            deployment_config=update.deployment_config,
            **_retained(settings),
        )
        endpoint.node.add_dependency(self.monitoring)  # its log group: SageMaker would make one that is kept for ever
        if settings.scaling:
            VariantScaling(
                self,
                "Scaling",
                settings=settings.scaling,
                endpoint_name=endpoint.attr_endpoint_name,
                variant_name=_VARIANT,
            )
        ssm.StringParameter(
            self,
            "EndpointName",
            parameter_name=f"/decision-endpoints/{environment}/{contract}/endpoint-name",
            description=f"The SageMaker endpoint that speaks the {contract} contract",
            string_value=endpoint.attr_endpoint_name,
        )
        CfnOutput(Stack.of(self), f"{construct_id}EndpointName", value=endpoint.attr_endpoint_name)


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
