"""`make image`: the decision image built for real, through the phases that CodeBuild runs, without Docker.

`docker` is answered by buildah, the published base by a stand-in made here, ECR by the local cloud.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from local_cloud import deployment
from local_cloud.build import BuildRun, Status
from local_cloud.buildah import Buildah, cache_directory
from local_cloud.buildspec import parse_buildspec
from local_cloud.built_images import IMAGES_VARIABLE, BuiltImage, BuiltImages
from local_cloud.cloud import REPOSITORY_ROOT, Cloud, client_settings, start
from local_cloud.codebuild import build_environment
from local_cloud.errors import ImageError
from local_cloud.log_stream import LogStream
from local_cloud.stand_in_base import StandInBase
from local_cloud.state_directory import StateDirectory

PUBLISHED_CPU_BASE = (
    "public.ecr.aws/deep-learning-containers/llama-cpp"
    "@sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"
)
_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True)
class Built:
    """An image that a build has made, what the build printed as its result, and its log."""

    image: BuiltImage
    result: dict[str, object]
    exported: dict[str, str]
    log: str


class _ShownLog(LogStream):
    """A log that is shown as well."""

    def write(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)
        super().write(line)


def build(source: Path = REPOSITORY_ROOT / "adapter", base: str = PUBLISHED_CPU_BASE) -> Built:
    """Build the image from the folder `adapter` at `source`, in a cloud of its own that is gone afterwards.

    Raises:
        ImageError: the build failed; its log says why.
    """
    cache = cache_directory()
    stand_in = StandInBase(Buildah.open(cache / "buildah"), cache)
    if stand_in.knows(base):  # else the build itself refuses it
        stand_in.image(base)  # before the clock of the build runs: the first time it takes long
    with (
        tempfile.TemporaryDirectory(prefix="image-") as folder,
        start(Path(folder), detached=False, variables={IMAGES_VARIABLE: "built"}) as cloud,
    ):
        return _run(cloud, source, base)


def _run(cloud: Cloud, source: Path, base: str) -> Built:
    state = StateDirectory(cloud.state_dir)
    work = state.builds / "image"
    (work / "control").mkdir(parents=True)
    shutil.copytree(source, work / "src" / "adapter", ignore=shutil.ignore_patterns("__pycache__"))
    repository = deployment.client(cloud, "ecr").create_repository(
        repositoryName="decision-endpoints", imageTagMutability="IMMUTABLE"
    )["repository"]
    environment = {
        **build_environment(state.commands, client_settings(cloud)),
        "IMAGE_REPOSITORY_URI": repository["repositoryUri"],
        "IMAGE_TAG": "built",
        "IMAGE_BASE": base,
        "IMAGE_BASE_DIGEST": base.partition("@")[2],
        "IMAGE_PLATFORM": "linux/amd64",
    }
    log = _ShownLog(state.logs / "image.log", "/image", "build", deployment.client(cloud, "logs"))
    run = BuildRun(
        parse_buildspec((work / "src" / "adapter" / "buildspec.yml").read_text()),
        work / "src",
        work / "control",
        environment,
        _TIMEOUT_SECONDS,
        log,
        lambda _name, _result: None,
    )
    try:
        status = run.run()
    finally:
        log.close()
    text = log.path.read_text()
    if status is not Status.SUCCEEDED:
        raise ImageError(f"the image was not built: {_reason(text)}")
    exported = run.exported_variables()
    image = BuiltImages(state.images).find(exported["IMAGE_DIGEST"])
    if image is None:
        raise ImageError(f"{exported['IMAGE_DIGEST']} was built and cannot be found")
    return Built(image, json.loads((work / "src" / "image.json").read_text()), exported, text)


def _reason(log: str) -> str:
    """The line of a build's log that says why it failed: the proof's, else the last."""
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith("[Container]")]
    return next(
        (line for line in lines if line.startswith("proof failed: ")), lines[-1] if lines else "nothing was said"
    )
