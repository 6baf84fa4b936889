"""Settings of the containers that serve the model: which, and where they are pulled from."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from decision_constructs import deep_learning_containers, inference_ami
from decision_constructs.instance_type import Accelerator
from decision_constructs.pinned_image import PUBLIC_REGISTRY, PinnedImage
from decision_constructs.section import Problem, Raw, Section, expected

if TYPE_CHECKING:
    from decision_constructs.settings import Endpoint

_OTHER_PARTITIONS = ("cn-", "us-gov-", "us-iso", "eu-iso")
_PUBLISHED = "public.ecr.aws/deep-learning-containers/llama-cpp"

ImageReference = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-zA-Z0-9_.:-]*(/[a-zA-Z0-9_.-]+)+@sha256:[0-9a-f]{64}$",
        description="an image pinned by digest, repository@sha256:<64 hex digits>; a tag can change under the endpoint",
    ),
]
Source = Annotated[
    Literal["copy", "regional", "direct"],
    Field(
        description="'copy' (into our repository), 'regional' (AWS's registry in the region) or 'direct' (where cpu, "
        "cuda and arm64 say)"
    ),
]


class Images(Section):
    """The published llama.cpp containers, pinned. The chat endpoint runs one; the decision images are built on them.

    `arm64` has no default: no digest of it has been checked with this release.
    """

    source: Source = "copy"
    cpu: ImageReference = f"{_PUBLISHED}@sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"
    cuda: ImageReference = f"{_PUBLISHED}@sha256:9f2eb2d9cbdc3172c2046117c4a43401bc95dbabdc3e2aeaa35daa11565c8b36"
    arm64: ImageReference | None = None
    cuda_major: Annotated[int, Field(ge=11, le=99, description="the major version of CUDA in images.cuda, e.g. 13")] = (
        13
    )

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """Another CUDA image has another CUDA; the regional registry has AWS's images alone."""
        if "cuda" in raw and "cuda_major" not in raw:
            yield ("cuda_major",), f"missing; another image may have another CUDA: {expected(cls, 'cuda_major')}"
        if raw.get("source") == "regional":
            for key in ("cpu", "cuda", "arm64"):
                image = raw.get(key)
                if isinstance(image, str) and not deep_learning_containers.is_one(PinnedImage.parse(image)):
                    yield (
                        (key,),
                        f"{image!r} is none of AWS's Deep Learning Containers (public.ecr.aws/deep-learning-containers/"
                        "…), which are all that a regional registry has; set source to 'copy' or 'direct'",
                    )

    @property
    def bases(self) -> dict[Accelerator, PinnedImage]:
        """The published image for each accelerator that has one."""
        images = {Accelerator.CPU: self.cpu, Accelerator.ARM64: self.arm64, Accelerator.CUDA: self.cuda}
        return {accelerator: PinnedImage.parse(image) for accelerator, image in images.items() if image}

    def pulled(self, accelerator: Accelerator, region: str) -> PinnedImage:
        """Where the image comes from: the region's registry, or where the settings say. A copy is made from there."""
        image = self.bases[accelerator]
        return deep_learning_containers.regional(image, region) if self.source == "regional" else image

    def first_with_the_same(self, accelerator: Accelerator) -> Accelerator:
        """Of the accelerators that one copy serves, the first: those whose image and platform are the same."""
        wanted = self.bases[accelerator], accelerator.platform
        return next(other for other, image in self.bases.items() if (image, other.platform) == wanted)

    def misfits(self, endpoints: Mapping[str, "Endpoint"], region: object, *, in_vpc: bool) -> Iterator[Problem]:
        """Where image, instance family, driver, region and network do not fit each other."""
        known = region in deep_learning_containers.ACCOUNTS
        if self.source == "regional" and isinstance(region, str) and not known:
            told = f"'regional': AWS names no registry of Deep Learning Containers in {region}; set 'copy'"
            yield ("images", "source"), told
        for contract, endpoint in endpoints.items():
            name = endpoint.accelerator.value
            if endpoint.accelerator not in self.bases:
                yield ("images", name), f"missing; {contract} runs on {name}: {expected(Images, name)}"
            elif contract == "chat" and (unreachable := self._unreachable(endpoint.accelerator, region, in_vpc)):
                yield ("images", "source"), unreachable
            old_driver = inference_ami.problem(endpoint.inference_ami, self.cuda_major)
            if endpoint.accelerator is Accelerator.CUDA and old_driver:
                yield (contract, "inference_ami"), old_driver

    def _unreachable(self, accelerator: Accelerator, region: object, in_vpc: bool) -> str | None:
        """Why an endpoint could not pull the image itself; None when it can."""
        image = self.bases[accelerator]
        if self.source != "direct" or not isinstance(region, str):
            return None
        if image.ecr:
            told = (
                f"'direct': an endpoint in {region} pulls from ECR of {region}, not from {image.registry}; set 'copy'"
            )
            return None if image.ecr.region == region else told
        if image.registry != PUBLIC_REGISTRY:
            return f"'direct': an endpoint pulls from ECR, not from {image.registry}; set 'copy'"
        if in_vpc or region.startswith(_OTHER_PARTITIONS):
            where = "in a VPC" if in_vpc else f"in {region}"
            return f"'direct': an endpoint {where} cannot pull from {PUBLIC_REGISTRY}; set 'copy'"
        return None
