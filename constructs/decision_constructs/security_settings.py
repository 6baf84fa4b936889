"""Settings of an environment that a platform team decides: network, encryption, data capture, what exists already."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from decision_constructs.section import Problem, Raw, Section

NEW_KEY = "new"

KmsKey = Annotated[
    str,
    Field(
        pattern=r"^(new|arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+)$",
        description='"new" (a key is made) or the ARN of a KMS key, arn:aws:kms:<region>:<account>:key/<id>',
    ),
]
SubnetIds = Annotated[
    tuple[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]+$", description="a subnet, subnet-<hex digits>")], ...],
    Field(strict=False, min_length=1, max_length=16, description="a list of 1 to 16 subnets, in quotes"),
]
SecurityGroupIds = Annotated[
    tuple[Annotated[str, Field(pattern=r"^sg-[0-9a-f]+$", description="a security group, sg-<hex digits>")], ...],
    Field(strict=False, min_length=1, max_length=5, description="a list of 1 to 5 security groups, in quotes"),
]
BucketName = Annotated[
    str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", description="a bucket's name, not its ARN or URI")
]
RepositoryName = Annotated[
    str,
    Field(pattern=r"^[a-z0-9]+([._/-][a-z0-9]+)*$", description="the name of an ECR repository in this account"),
]
RoleArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+$",
        description="a role's ARN, arn:aws:iam::<account>:role/<name>",
    ),
]
CaptureUri = Annotated[
    str,
    Field(pattern=r"^s3://[a-z0-9][a-z0-9.-]+(/[A-Za-z0-9_./=-]+)?$", description="where to, s3://bucket/prefix"),
]


class Network(Section):
    """The VPC that containers run in; both keys, or no table: then SageMaker's own network."""

    subnet_ids: SubnetIds
    security_group_ids: SecurityGroupIds


class Encryption(Section):
    """The key for what is kept: archives, images, logs, captured data, instance volumes."""

    kms_key: KmsKey | None = None

    @property
    def key_arn(self) -> str | None:
        """The key that exists already; None when AWS's own serve or a new one is made."""
        return None if self.kms_key == NEW_KEY else self.kms_key


class Existing(Section):
    """What the account has already and is used instead of making it. None of it is changed or deleted."""

    bucket: BucketName | None = None
    repository: RepositoryName | None = None
    endpoint_role: RoleArn | None = None
    build_role: RoleArn | None = None
    access_log_bucket: BucketName | None = None

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """A bucket that exists has its own logging."""
        if "bucket" in raw and "access_log_bucket" in raw:
            yield ("access_log_bucket",), "is for the bucket that is made here; remove it, or remove bucket"


class DataCapture(Section):
    """Requests and answers kept in S3: what callers sent is in them."""

    percentage: Annotated[int, Field(ge=1, le=100, description="1 to 100 percent of the requests")]
    uri: CaptureUri | None = None
    expire_days: Annotated[int, Field(ge=1, le=3650, description="1 to 3650 days until captured data is deleted")] = 30

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """Somebody else's bucket has its own lifecycle."""
        if "uri" in raw and "expire_days" in raw:
            yield (
                ("expire_days",),
                "is for the bucket that is made here; remove it: the bucket of uri has its own rules",
            )
