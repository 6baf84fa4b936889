"""What all endpoints and transform jobs of an environment share."""

from dataclasses import dataclass

from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from decision_constructs.settings import Settings


@dataclass(frozen=True)
class ServedEnvironment:
    """An environment whose artifacts are there."""

    name: str
    settings: Settings
    model_data_url: str
    bucket: s3.IBucket | None
    """Where the archive lies and captured data goes; None when both are elsewhere."""
    encryption_key: kms.IKey | None
    """What encrypts archive, logs, captured data and volumes; None for AWS's own keys."""


@dataclass(frozen=True)
class ServedImage:
    """A container by digest, and the repository that it is pulled from; None when anybody may pull it."""

    uri: str
    repository_arn: str | None
