"""A SageMaker real-time endpoint: role, model, endpoint config, endpoint, and the parameter that names it."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import ArnFormat, CfnOutput, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from decision_constructs.model_artifact import MODEL_PREFIX
from decision_constructs.safe_update import SafeUpdate
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
        environment: str,
        settings: Endpoint,
        image_uri: str,
        container_environment: Mapping[str, str],
        model_data_url: str,
        bucket: s3.IBucket,
        network_isolation: bool,
    ) -> None:
        """Declare it.

        Args:
            scope: where it belongs.
            construct_id: its id, and the contract it speaks: the endpoint is `decision-endpoints-<environment>-<id>`.
            environment: the environment's name.
            settings: instances, time-outs, GPU.
            image_uri: the container, by digest.
            container_environment: what the container reads.
            model_data_url: the model archive.
            bucket: where the archive lies.
            network_isolation: whether the container is kept from making calls of its own.
        """
        super().__init__(scope, construct_id)
        contract = construct_id.lower()
        name = f"decision-endpoints-{environment}-{contract}"
        self.role = _execution_role(self, name, bucket)
        model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=self.role.role_arn,
            enable_network_isolation=network_isolation,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image_uri, model_data_url=model_data_url, environment=dict(container_environment)
            ),
        )
        model.node.add_dependency(self.role)  # with its policies: SageMaker reads archive and image as soon as it can
        config = sagemaker.CfnEndpointConfig(
            self, "Config", production_variants=[_production_variant(settings, model.attr_model_name)]
        )
        update = SafeUpdate(
            self, "Update", settings=settings, endpoint_name=name, variant_name=_VARIANT, role=self.role
        )
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=name,
            endpoint_config_name=config.attr_endpoint_config_name,
            deployment_config=update.deployment_config,
            **_retained(settings),
        )
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


def _production_variant(settings: Endpoint, model_name: str) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
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
        inference_ami_version=settings.inference_ami_version,
        routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(routing_strategy="LEAST_OUTSTANDING_REQUESTS"),
    )


def _execution_role(scope: Construct, endpoint_name: str, bucket: s3.IBucket) -> iam.Role:
    """Reads the archives, writes its own log streams and metrics; nothing else."""
    log_group = Stack.of(scope).format_arn(
        service="logs",
        resource="log-group",
        resource_name=f"/aws/sagemaker/Endpoints/{endpoint_name}",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    role = iam.Role(scope, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    for statement in (
        iam.PolicyStatement(actions=["s3:GetObject"], resources=[bucket.arn_for_objects(f"{MODEL_PREFIX}*")]),
        iam.PolicyStatement(
            actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
            resources=[log_group, f"{log_group}:*"],
        ),
        # PutMetricData knows no resources; the namespace narrows it
        iam.PolicyStatement(
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": "/aws/sagemaker/Endpoints"}},
        ),
    ):
        role.add_to_policy(statement)
    return role
