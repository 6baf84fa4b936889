"""CodeBuild projects that end with an image in the environment's repository."""

from collections.abc import Callable, Mapping
from typing import Any

from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from constructs import Construct

from decision_constructs.build_project import BuildProject
from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.ecr_access import KNOWS_NO_RESOURCE, LOG_IN, PULL, PUSH, repository_arn
from decision_constructs.pinned_image import PinnedImage


class ImageProject(BuildProject):
    """Pulls an image, makes another of it, or the same, and pushes that to the repository."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        pulled: PinnedImage,
        repository: ecr.IRepository,
        output: Callable[[str], Mapping[str, str]],
        **build: Any,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            output=lambda content_hash: {"IMAGE_REPOSITORY_URI": repository.repository_uri, **output(content_hash)},
            compute_type=codebuild.ComputeType.MEDIUM,
            docker=True,
            **build,
        )
        self._repository = repository
        self.allow(PUSH, repository.repository_arn)
        self.allow(LOG_IN, "*", wildcard=KNOWS_NO_RESOURCE)
        if source := repository_arn(pulled):
            self.allow(PULL, source)

    def pushed(self, trigger: BuildTrigger, tag: str) -> str:
        """The image with the tag as `repository@sha256:…`, known once `trigger` has run the build or found it there."""
        describe = ["ecr:DescribeImages", "ecr:DescribeRepositories"]
        return trigger.run(
            "Image",
            project=self,
            output={"RepositoryName": self._repository.repository_name, "ImageTag": tag},
            grants=[iam.PolicyStatement(actions=describe, resources=[self._repository.repository_arn])],
        ).get_att_string("ImageUri")
