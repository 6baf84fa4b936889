"""SageMaker instance types: what their names say about accelerator and architecture."""

import re
from enum import StrEnum
from typing import NamedTuple

_NAME = re.compile(r"ml\.(?P<family>[a-z]+)(?P<generation>[0-9]+)(?P<attributes>[a-z-]*)\.(?P<size>[a-z0-9-]+)")
_GPU_FAMILIES = frozenset({"g", "p"})
_CPU_FAMILIES = frozenset({"c", "m", "r", "t", "x"})
_OLDEST_GPU_GENERATION = 4
"""g4dn and p4d: NVIDIA's Turing and Ampere. p3 is Volta, which CUDA 13 has dropped; g4ad is AMD's."""


class Accelerator(StrEnum):
    """What computes: the value is also the image's name."""

    CPU = "cpu"
    CUDA = "cuda"


class InstanceType(NamedTuple):
    """A parsed SageMaker hosting instance type such as `ml.g6e.xlarge`."""

    name: str
    accelerator: Accelerator

    @classmethod
    def parse(cls, name: str) -> "InstanceType":
        """Read the name.

        Raises:
            ValueError: it is no instance type, or one that the published llama.cpp images do not run on.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"{name!r} is not a SageMaker instance type; they read like 'ml.c6i.2xlarge'")
        if match["family"] not in _GPU_FAMILIES | _CPU_FAMILIES:
            raise ValueError(f"{name!r} runs no llama.cpp image; use a CPU family (ml.c6i…) or an NVIDIA one (ml.g6…)")
        if match["family"] in _GPU_FAMILIES and (
            int(match["generation"]) < _OLDEST_GPU_GENERATION or match["attributes"] == "ad"
        ):
            raise ValueError(
                f"{name!r} has no GPU that CUDA 13 runs on; use NVIDIA's Turing or newer: g4dn, g5, g6, p5…"
            )
        if "g" in match["attributes"]:
            raise ValueError(f"{name!r} is arm64; the images here are built for x86-64")
        return cls(name, Accelerator.CUDA if match["family"] in _GPU_FAMILIES else Accelerator.CPU)
