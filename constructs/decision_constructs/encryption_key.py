"""The customer-managed KMS key of an environment."""

from collections.abc import Sequence

from aws_cdk import ArnFormat, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from decision_constructs.instance_type import InstanceType
from decision_constructs.security_settings import Encryption

KEY_USE = ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"]
"""What reading and writing encrypted objects takes."""


class EncryptionKey(kms.Key):
    """A key of our own: rotated each year, and for this account's logs too.

    Whoever uses it gets the right from an IAM policy; the key's own policy leaves that to the account.
    """

    def __init__(self, scope: Construct, construct_id: str, *, description: str, removal_policy: RemovalPolicy) -> None:
        super().__init__(
            scope, construct_id, description=description, enable_key_rotation=True, removal_policy=removal_policy
        )
        stack = Stack.of(self)
        log_groups = stack.format_arn(
            service="logs", resource="log-group", resource_name="*", arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
        self.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
                actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
                resources=["*"],  # in a key's policy: this key
                conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": log_groups}},
            )
        )


def encryption_key(
    scope: Construct, encryption: Encryption, *, description: str, removal_policy: RemovalPolicy
) -> kms.IKey | None:
    """The key of the settings: a new one, one that exists, or None: then AWS's own keys serve."""
    if encryption.key_arn:
        return kms.Key.from_key_arn(scope, "Key", encryption.key_arn)
    if encryption.kms_key:
        return EncryptionKey(scope, "Key", description=description, removal_policy=removal_policy)
    return None


def volume_key_arn(encryption_key: kms.IKey | None, instance_types: Sequence[str]) -> str | None:
    """The key of the instances' volume; SageMaker refuses one where the disk is the instance's own, encrypted itself.

    https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateEndpointConfig.html
    """
    own_disk = any(InstanceType.parse(name).has_local_storage for name in instance_types)
    return encryption_key.key_arn if encryption_key and not own_disk else None
