"""What the decision image can be built on: the published images in adapter/bases.toml, with the binding that fits."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from decision_constructs.instance_type import Accelerator
from decision_constructs.pinned_image import PinnedImage
from decision_constructs.section import Problem

BASES = Path(__file__).parents[2] / "adapter" / "bases.toml"


def problems(images: Mapping[Accelerator, PinnedImage]) -> Iterator[Problem]:
    """What keeps the decision image for each accelerator from being built on the published one."""
    table = tomllib.loads(BASES.read_text(encoding="utf-8"))
    for accelerator, image in sorted(images.items()):
        entry = table["bases"].get(image.digest)
        if entry is None:
            yield (
                ("images", accelerator.value),
                f"'{image}': which llama-cpp-python fits it is not known; add its digest to adapter/bases.toml "
                "(docs/image.md says how), or name an image that is built already in decision.image_digest",
            )
        elif entry["accelerator"] != accelerator.value:
            told = f"adapter/bases.toml has it for {entry['accelerator']}, not for {accelerator.value}"
            yield ("images", accelerator.value), f"'{image}': {told}"
        elif entry["llama_cpp_python"] not in table["bindings"]:
            told = (
                f"adapter/bases.toml gives it llama-cpp-python {entry['llama_cpp_python']}, which its [bindings] lack"
            )
            yield ("images", accelerator.value), f"'{image}': {told}"
