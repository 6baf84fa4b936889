"""Where archives and images lie: the bucket and the repository, ours or ones that exist."""

from aws_cdk import CfnResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from decision_constructs.acknowledgement import acknowledge
from decision_constructs.security_settings import Existing
from decision_constructs.settings import Settings

CAPTURE_PREFIX = "data-capture/"
COPY_TAG_PREFIX = "copy-"
"""Tags of copied images. They are pushed once and serve long: builds of ours must not push them out."""
_IMAGES_KEPT = 50
"""An image in use is one of the last pushed, unless this many others were pushed while it served."""


def artifact_bucket(
    scope: Construct, settings: Settings, *, encryption_key: kms.IKey | None, removal_policy: RemovalPolicy
) -> s3.IBucket:
    """The bucket for archives and captured data: private, versioned, over TLS 1.2 or newer only."""
    if settings.existing.bucket:
        return s3.Bucket.from_bucket_attributes(
            scope, "Bucket", bucket_name=settings.existing.bucket, encryption_key=encryption_key
        )
    log_bucket = settings.existing.access_log_bucket
    bucket = s3.Bucket(
        scope,
        "Bucket",
        encryption=s3.BucketEncryption.KMS if encryption_key else s3.BucketEncryption.S3_MANAGED,
        encryption_key=encryption_key,
        bucket_key_enabled=True if encryption_key else None,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        versioned=True,
        lifecycle_rules=[*_lifecycle_rules(settings)],
        server_access_logs_bucket=s3.Bucket.from_bucket_name(scope, "LogBucket", log_bucket) if log_bucket else None,
        server_access_logs_prefix="decision-endpoints/" if log_bucket else None,
        removal_policy=removal_policy,
        auto_delete_objects=removal_policy is RemovalPolicy.DESTROY,
    )
    if log_bucket:
        acknowledge(
            bucket, "@aws-cdk/aws-s3:accessLogsPolicyNotAdded", "Its owner lets S3 write there (docs/security.md)."
        )
    else:
        acknowledge(
            bucket,
            "AwsSolutions-S1",
            "Where access logs go is the account's decision: existing.access_log_bucket says it.",
        )
    if removal_policy is RemovalPolicy.DESTROY:
        _keep_the_log_of_deletion(bucket, encryption_key)
    return bucket


def _keep_the_log_of_deletion(bucket: s3.Bucket, encryption_key: kms.IKey | None) -> None:
    """Give the function that CDK adds for `auto_delete_objects` a log group that ends with the stack."""
    stack = Stack.of(bucket)
    log_group = logs.LogGroup(
        stack,
        "DeletionLog",
        retention=logs.RetentionDays.ONE_MONTH,
        removal_policy=RemovalPolicy.DESTROY,
        encryption_key=encryption_key,
    )
    function = stack.node.find_child("Custom::S3AutoDeleteObjectsCustomResourceProvider").node.find_child("Handler")
    if isinstance(function, CfnResource):
        function.add_property_override("LoggingConfig.LogGroup", log_group.log_group_name)


def _lifecycle_rules(settings: Settings) -> list[s3.LifecycleRule]:
    """Nothing that no one can see stays; archives do."""
    rules = [
        s3.LifecycleRule(
            abort_incomplete_multipart_upload_after=Duration.days(7),
            noncurrent_version_expiration=Duration.days(30),
        )
    ]
    for contract, endpoint in settings.endpoints.items():
        if endpoint.data_capture and not endpoint.data_capture.uri:
            rules.append(
                s3.LifecycleRule(
                    prefix=f"{CAPTURE_PREFIX}{contract}/", expiration=Duration.days(endpoint.data_capture.expire_days)
                )
            )
    return rules


def image_repository(
    scope: Construct, existing: Existing, *, encryption_key: kms.IKey | None, removal_policy: RemovalPolicy
) -> ecr.IRepository:
    """The repository for images: tags never move, each image is scanned, old ones go, no request without TLS."""
    if existing.repository:
        return ecr.Repository.from_repository_name(scope, "Repository", existing.repository)
    repository = ecr.Repository(
        scope,
        "Repository",
        encryption=ecr.RepositoryEncryption.KMS if encryption_key else None,
        encryption_key=encryption_key,
        image_tag_mutability=ecr.TagMutability.IMMUTABLE,
        image_scan_on_push=True,
        lifecycle_rules=[
            ecr.LifecycleRule(tag_status=ecr.TagStatus.UNTAGGED, max_image_age=Duration.days(7), rule_priority=1),
            # what one rule counts, a later one leaves alone
            ecr.LifecycleRule(tag_prefix_list=[COPY_TAG_PREFIX], max_image_count=_IMAGES_KEPT, rule_priority=2),
            ecr.LifecycleRule(tag_status=ecr.TagStatus.ANY, max_image_count=_IMAGES_KEPT, rule_priority=3),
        ],
        removal_policy=removal_policy,
        empty_on_delete=removal_policy is RemovalPolicy.DESTROY,
    )
    repository.add_to_resource_policy(
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            principals=[iam.AnyPrincipal()],
            actions=["ecr:*"],
            conditions={"Bool": {"aws:SecureTransport": "false"}},
        )
    )
    return repository
