"""A copy of a published image in the environment's repository, from which an endpoint in any network can pull it."""

from typing import Any

from aws_cdk import aws_ecr as ecr
from constructs import Construct

from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.image_project import ImageProject
from decision_constructs.pinned_image import PinnedImage
from decision_constructs.storage import COPY_TAG_PREFIX


class ImageCopy(Construct):
    """Copies the image, bytes and digest, unless its tag exists: that names digest and platform.

    `uri` is `repository@sha256:…`, known once the build has run. The digest is the image's; where that is an index of
    several platforms, it is the one that the index has for the platform: SageMaker pulls no index.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        image: PinnedImage,
        platform: str,
        repository: ecr.IRepository,
        trigger: BuildTrigger,
        **build: Any,
    ) -> None:
        super().__init__(scope, construct_id)
        architecture, digest = platform.rpartition("/")[2], image.digest.rpartition(":")[2]
        tag = f"{COPY_TAG_PREFIX}{architecture}-{digest}"
        project = ImageProject(
            self,
            "Build",
            description=f"Copies {image} into the environment's repository",
            folder="image_copy",
            files=["*.py"],
            inputs={"IMAGE_SOURCE": str(image), "IMAGE_PLATFORM": platform},
            output=lambda _: {"IMAGE_TAG": tag},
            pulled=image,
            repository=repository,
            **build,
        )
        self.uri = project.pushed(trigger, tag)
