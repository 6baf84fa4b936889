"""CodeBuild projects whose source is a part of this repository, and whose output is addressed by what went in."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aws_cdk import Duration, IgnoreMode, RemovalPolicy
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

REPOSITORY_ROOT = Path(__file__).parents[2]
_BUILD_TIMEOUT = Duration.minutes(50)


class BuildProject(codebuild.Project):
    """Runs `<folder>/buildspec.yml` on exactly the files named; nothing else of the repository matters to the result.

    `content_hash` covers those files and the inputs: the same hash means the same output, so the output is named by it.
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
        docker: bool = False,
    ) -> None:
        """Declare the project.

        Args:
            scope: where it belongs.
            construct_id: its id.
            description: for the console.
            folder: the folder of the repository with the buildspec.
            files: patterns below it, as in a .dockerignore; the buildspec is always among them.
            inputs: environment variables that decide what is built.
            output: the variables that say where it goes, from the content hash.
            compute_type: the machine.
            docker: whether the build runs Docker.
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
        )
        super().__init__(
            scope,
            construct_id,
            description=description,
            source=codebuild.Source.s3(bucket=source.bucket, path=source.s3_object_key),
            build_spec=codebuild.BuildSpec.from_source_filename(f"{folder}/buildspec.yml"),
            environment=codebuild.BuildEnvironment(
                build_image=codebuild.LinuxBuildImage.AMAZON_LINUX_2023_5,
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


def _content_hash(source_hash: str, inputs: Mapping[str, str]) -> str:
    """64 hex digits."""
    return hashlib.sha256(json.dumps([source_hash, dict(inputs)], sort_keys=True).encode()).hexdigest()
