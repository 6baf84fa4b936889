"""What SageMaker serves: a container by digest, the model archive, and the role and network they run in."""

from collections.abc import Mapping

from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from decision_constructs.execution_role import ExecutionRole
from decision_constructs.security_settings import Network
from decision_constructs.served_environment import ServedEnvironment


class ServedModel(sagemaker.CfnModel):
    """A model without a name, so that a change of anything makes another."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        environment: ServedEnvironment,
        role: ExecutionRole,
        image_uri: str,
        container_environment: Mapping[str, str],
        network_isolation: bool,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            execution_role_arn=role.arn,
            vpc_config=_vpc_config(environment.settings.network),
            enable_network_isolation=network_isolation,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image_uri,
                model_data_url=environment.model_data_url,
                environment=dict(container_environment),
            ),
        )
        self.node.add_dependency(role)  # with its policies: SageMaker reads archive and image as soon as it can


def _vpc_config(network: Network | None) -> sagemaker.CfnModel.VpcConfigProperty | None:
    if network is None:
        return None
    return sagemaker.CfnModel.VpcConfigProperty(
        subnets=[*network.subnet_ids], security_group_ids=[*network.security_group_ids]
    )
