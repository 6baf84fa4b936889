"""The decision image: our adapter on the published llama.cpp container, one for each accelerator in use."""

from typing import Any

from aws_cdk import aws_ecr as ecr
from constructs import Construct

from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.ecr_access import KNOWS_NO_RESOURCE, LOG_IN_TO_PUBLIC
from decision_constructs.image_project import ImageProject
from decision_constructs.instance_type import Accelerator
from decision_constructs.pinned_image import PUBLIC_REGISTRY, PinnedImage

_SOURCES = [
    *("decision_adapter/**/*.py", "proof/**/*.py"),
    *(f"decision_adapter/playground/*.{kind}" for kind in ("css", "html", "js", "svg")),
]


class ContainerImage(Construct):
    """Builds the child image, unless its tag exists: the content hash of the Dockerfile, the adapter and the pins.

    `uri` is `repository@sha256:…`, known once the build has run: SageMaker is given the digest, never the tag.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        accelerator: Accelerator,
        base: PinnedImage,
        base_uri: str,
        repository: ecr.IRepository,
        trigger: BuildTrigger,
        **build: Any,
    ) -> None:
        """Declare it.

        Args:
            scope: where it belongs.
            construct_id: its id.
            accelerator: what it runs on.
            base: the published container.
            base_uri: where that is pulled from: there, or a copy of it in the repository.
            repository: where the image goes.
            trigger: what runs the build.
            build: key and role of the build.
        """
        super().__init__(scope, construct_id)
        project = ImageProject(
            self,
            "Build",
            description=f"Builds the decision image for {accelerator.upper()} on the published llama.cpp container",
            folder="adapter",
            files=["Dockerfile", "serve", "*.py", "*.lock", "bases.toml", *_SOURCES],
            inputs={
                "IMAGE_BASE_DIGEST": base.digest,  # the same bytes from wherever they are pulled
                "IMAGE_PLATFORM": accelerator.platform,
            },
            output=lambda content_hash: {"IMAGE_BASE": base_uri, "IMAGE_TAG": content_hash},
            pulled=base,
            repository=repository,
            arm64=accelerator is Accelerator.ARM64,
            **build,
        )
        if base_uri == str(base) and base.registry == PUBLIC_REGISTRY:
            project.allow(LOG_IN_TO_PUBLIC, "*", wildcard=KNOWS_NO_RESOURCE)
        self.uri = project.pushed(trigger, project.content_hash)
