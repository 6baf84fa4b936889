"""The role that SageMaker takes to run the containers of an endpoint or of transform jobs."""

from collections.abc import Sequence

from aws_cdk import Aws, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from decision_constructs.acknowledgement import acknowledge_wildcard
from decision_constructs.ecr_access import KNOWS_NO_RESOURCE, LOG_IN, PULL
from decision_constructs.encryption_key import KEY_USE
from decision_constructs.model_artifact import BY_CONTENT, MODEL_PREFIX
from decision_constructs.security_settings import Network
from decision_constructs.served_environment import ServedEnvironment

WRITE_LOG = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
"""What writing to a log group that exists takes."""
_DESCRIBE_NETWORK = [
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
]
_MANAGE_INTERFACES = [
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
]


class ExecutionRole(Construct):
    """Reads the archives and writes metrics; whoever runs the containers allows their log and image.

    A role that exists already is used as it is: its owner gives it the rights (docs/security.md lists them).
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        environment: ServedEnvironment,
        metrics_namespace: str,
    ) -> None:
        super().__init__(scope, construct_id)
        existing, archive_uri = environment.settings.existing.endpoint_role, environment.settings.model.archive_uri
        self._existing = existing
        self._role = (
            iam.Role.from_role_arn(self, "Role", existing, mutable=False)
            if existing
            else iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
        )
        if archive_uri:
            self.allow(["s3:GetObject"], f"arn:{Aws.PARTITION}:s3:::{archive_uri.removeprefix('s3://')}")
        elif environment.bucket:
            self.allow(["s3:GetObject"], environment.bucket.arn_for_objects(f"{MODEL_PREFIX}*"), wildcard=BY_CONTENT)
        self.allow(
            ["cloudwatch:PutMetricData"],
            "*",
            wildcard="The action knows no resource; the condition holds it to one namespace. Beside it, in a VPC, "
            "only Describe actions of EC2 stand, which know none either.",
            condition={"StringEquals": {"cloudwatch:namespace": metrics_namespace}},
        )
        if environment.settings.network:
            self._allow_network(environment.settings.network)
        if environment.encryption_key:
            self._allow_key(environment.encryption_key)

    @property
    def arn(self) -> str:
        """The role's ARN."""
        return self._role.role_arn

    def allow(
        self,
        actions: Sequence[str],
        *resources: str,
        wildcard: str | None = None,
        condition: dict[str, dict[str, str]] | None = None,
    ) -> None:
        """Let the containers do this too. `wildcard` says why the resources have one."""
        if self._existing:
            return
        self._role.add_to_principal_policy(
            iam.PolicyStatement(actions=[*actions], resources=[*resources], conditions=condition)
        )
        for resource in resources if wildcard else ():
            acknowledge_wildcard(self, resource, wildcard or "")

    def allow_pull(self, repository_arn: str) -> None:
        """Let SageMaker pull images of the repository."""
        self.allow(PULL, repository_arn)
        self.allow(LOG_IN, "*", wildcard=KNOWS_NO_RESOURCE)

    def _allow_key(self, key: kms.IKey) -> None:
        """Read and write what is encrypted; SageMaker attaches the encrypted volume through a grant."""
        self.allow(KEY_USE, key.key_arn)
        self.allow(["kms:CreateGrant"], key.key_arn, condition={"Bool": {"kms:GrantIsForAWSResource": "true"}})

    def _allow_network(self, network: Network) -> None:
        """SageMaker puts interfaces into the subnets, and finds out about them by actions that know no resource."""
        ec2 = f"arn:{Aws.PARTITION}:ec2:{Stack.of(self).region}:{Stack.of(self).account}"
        self.allow(_DESCRIBE_NETWORK, "*")
        self.allow(
            _MANAGE_INTERFACES,
            *(f"{ec2}:subnet/{subnet}" for subnet in network.subnet_ids),
            *(f"{ec2}:security-group/{group}" for group in network.security_group_ids),
        )
        self.allow(
            _MANAGE_INTERFACES,
            f"{ec2}:network-interface/*",
            wildcard="The interfaces get their ids when SageMaker makes them; where is held to subnets and groups.",
        )
