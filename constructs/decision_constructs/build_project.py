"""CodeBuild projects whose source is a part of this repository, and whose output is addressed by what went in."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aws_cdk import Duration, IgnoreMode, RemovalPolicy
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from decision_constructs.acknowledgement import acknowledge, acknowledge_wildcard
from decision_constructs.encryption_key import KEY_USE

REPOSITORY_ROOT = Path(__file__).parents[2]
_BUILD_TIMEOUT = Duration.minutes(50)


class BuildProject(codebuild.Project):
    """Runs `<folder>/buildspec.yml` on exactly the files named; nothing else of the repository matters to the result.

    `content_hash` covers those files and the inputs: the same hash means the same output, so the output is named by it.
    The role may read that source and write the log; `allow` adds what the build itself does.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        description: str,
        folder: str,
        files: Sequence[str],
        inputs: Mapping[str, str],
        output: Callable[[str], Mapping[str, str]],
        compute_type: codebuild.ComputeType,
        encryption_key: kms.IKey | None,
        build_role: str | None,
        docker: bool = False,
        arm64: bool = False,
    ) -> None:
        """Declare the project.

        Args:
            scope: where it belongs.
            construct_id: its id.
            description: for the console.
            folder: the folder of the repository with the buildspec.
            files: patterns below it, as in a .dockerignore; the buildspec is always among them.
            inputs: environment variables that decide what is built.
            output: the variables that say where from and where to, from the content hash; they win over inputs.
            compute_type: the machine.
            encryption_key: what encrypts its log and whatever CodeBuild keeps; None for AWS's own key.
            build_role: the ARN of a role that is used as it is; None for one of its own.
            docker: whether the build runs Docker.
            arm64: whether it runs on Graviton, as an image for Graviton has to.
        """
        source = s3_assets.Asset(
            scope,
            f"{construct_id}Source",
            path=str(REPOSITORY_ROOT),
            exclude=["*", *(f"!{folder}/{pattern}" for pattern in ("buildspec.yml", *files))],
            ignore_mode=IgnoreMode.DOCKER,
        )
        self.content_hash = _content_hash(source.asset_hash, inputs)
        log_group = logs.LogGroup(
            scope,
            f"{construct_id}Log",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
            encryption_key=encryption_key,
        )
        role_id = f"{construct_id}Role"
        self._role, role = None, None
        if build_role:
            role = iam.Role.from_role_arn(scope, role_id, build_role, mutable=False)
        else:
            self._role = iam.Role(scope, role_id, assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))
            # CDK would add wildcards: all of GetBucket*, List*, test reports, and a log group of another name
            role = self._role.without_policy_updates()
        super().__init__(
            scope,
            construct_id,
            description=description,
            role=role,
            grant_report_group_permissions=False,
            encryption_key=encryption_key,
            source=codebuild.Source.s3(bucket=source.bucket, path=source.s3_object_key),
            build_spec=codebuild.BuildSpec.from_source_filename(f"{folder}/buildspec.yml"),
            environment=codebuild.BuildEnvironment(
                build_image=codebuild.LinuxArmBuildImage.AMAZON_LINUX_2023_STANDARD_3_0
                if arm64
                else codebuild.LinuxBuildImage.AMAZON_LINUX_2023_5,
                compute_type=compute_type,
                privileged=docker,
            ),
            environment_variables={
                name: codebuild.BuildEnvironmentVariable(value=value)
                for name, value in {**inputs, **output(self.content_hash)}.items()
            },
            timeout=_BUILD_TIMEOUT,
            logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=log_group)),
        )
        self.log_group = log_group
        self.allow(["s3:GetObject", "s3:GetObjectVersion"], source.bucket.arn_for_objects(source.s3_object_key))
        self.allow(["s3:GetBucketAcl", "s3:GetBucketLocation"], source.bucket.bucket_arn)
        self.allow(["logs:CreateLogStream", "logs:PutLogEvents"], log_group.log_group_arn)
        self.node.add_dependency(self._role or role)  # with its policy: a build that starts earlier fails
        if encryption_key:
            self.allow(KEY_USE, encryption_key.key_arn)
        else:
            acknowledge(
                self,
                "AwsSolutions-CB4",
                "It keeps no artifacts and no cache, so there is nothing that a key would encrypt.",
            )

    def allow(self, actions: Sequence[str], resource: str, *, wildcard: str | None = None) -> None:
        """Let the build do this too. `wildcard` says why the resource has one."""
        if self._role is None:
            return
        self._role.add_to_policy(iam.PolicyStatement(actions=[*actions], resources=[resource]))
        if wildcard:
            acknowledge_wildcard(self._role, resource, wildcard)


def _content_hash(source_hash: str, inputs: Mapping[str, str]) -> str:
    """64 hex digits."""
    return hashlib.sha256(json.dumps([source_hash, dict(inputs)], sort_keys=True).encode()).hexdigest()
