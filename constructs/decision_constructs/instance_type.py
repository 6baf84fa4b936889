"""SageMaker instance types: what their names say, which of them exist, and what their GPUs hold."""

import difflib
import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import botocore.session

_NAME = re.compile(r"ml\.(?P<family>[a-z]+)(?P<generation>[0-9]+)(?P<attributes>[a-z0-9-]*)\.(?P<size>[a-z0-9-]+)")
_GPU_FAMILIES = frozenset({"g", "p"})
_CPU_FAMILIES = frozenset({"c", "m", "r", "t", "x"})
_OLDEST_GPU_GENERATION = 4
"""g4dn and p4d: NVIDIA's Turing and Ampere. p3 is Volta, which CUDA 13 has dropped; g4ad is AMD's."""

_GPU_MEMORY_GIB = {
    "g4dn": 16,
    "g5": 24,
    "g6": 24,
    "g6e": 48,
    "g7e": 96,
    "p4d": 40,
    "p4de": 80,
    "p5": 80,
    "p5e": 141,
    "p5en": 141,
}
"""Of one GPU; families that are not here are newer than this table: nothing is said about their memory."""
_GPUS = {
    ("g4dn", "12xlarge"): 4,
    **{(family, size): 4 for family in ("g5", "g6", "g6e") for size in ("12xlarge", "24xlarge")},
    **{(family, "48xlarge"): 8 for family in ("g5", "g6", "g6e", "g7e", "p5", "p5e", "p5en")},
    ("g7e", "12xlarge"): 2,
    ("g7e", "24xlarge"): 4,
    ("p4d", "24xlarge"): 8,
    ("p4de", "24xlarge"): 8,
}
"""GPUs of an instance; one where it is not here."""


class Accelerator(StrEnum):
    """What computes, which decides the image: the value is also the image's name."""

    CPU = "cpu"
    ARM64 = "arm64"
    CUDA = "cuda"

    @property
    def platform(self) -> str:
        """What images for it are built for."""
        return "linux/arm64" if self is Accelerator.ARM64 else "linux/amd64"


class InstanceType(NamedTuple):
    """A parsed SageMaker hosting instance type such as `ml.g6e.xlarge`."""

    name: str
    accelerator: Accelerator
    has_local_storage: bool
    gpu_memory_bytes: int | None
    """Of all its GPUs together, over which llama.cpp spreads a model; None without GPUs, or when not known."""

    @classmethod
    def parse(cls, name: str) -> "InstanceType":
        """Read the name.

        Raises:
            ValueError: it is no instance type, or one that the published llama.cpp images do not run on.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"{name!r} is not a SageMaker instance type; {nearest(name, hosting_types())}")
        family, attributes = match["family"], match["attributes"]
        if family not in _GPU_FAMILIES | _CPU_FAMILIES:
            raise ValueError(f"{name!r} runs no llama.cpp image; use a CPU family (ml.c6i…) or an NVIDIA one (ml.g6…)")
        if family in _GPU_FAMILIES and (int(match["generation"]) < _OLDEST_GPU_GENERATION or attributes == "ad"):
            raise ValueError(
                f"{name!r} has no GPU that CUDA 13 runs on; use NVIDIA's Turing or newer: g4dn, g5, g6, p5…"
            )
        if family in _GPU_FAMILIES and "g" in attributes:
            raise ValueError(f"{name!r} has GPUs beside arm64 cores; the image with CUDA is built for x86-64")
        if name not in hosting_types():
            raise ValueError(f"{name!r} is not an instance type of SageMaker hosting; {nearest(name, hosting_types())}")
        if family in _GPU_FAMILIES:
            type_ = f"{family}{match['generation']}{attributes}"
            return cls(name, Accelerator.CUDA, True, _gpu_memory_bytes(type_, match["size"]))
        accelerator = Accelerator.ARM64 if "g" in attributes else Accelerator.CPU
        return cls(name, accelerator, "d" in attributes, None)


@cache
def hosting_types() -> tuple[str, ...]:
    """Every type that SageMaker hosting knows, as botocore's description of CreateEndpointConfig lists them."""
    sagemaker = botocore.session.Session().get_service_model("sagemaker")
    return tuple(sagemaker.shape_for("ProductionVariantInstanceType").metadata["enum"])


@cache
def transform_types() -> tuple[str, ...]:
    """Every type that transform jobs run on, as botocore's description of CreateTransformJob lists them."""
    sagemaker = botocore.session.Session().get_service_model("sagemaker")
    return tuple(sagemaker.shape_for("TransformInstanceType").metadata["enum"])


def nearest(name: str, types: Sequence[str]) -> str:
    """What to write instead of a name that is not among the types."""
    near = difflib.get_close_matches(name, types, n=2, cutoff=0.7)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else "they read like 'ml.c6i.2xlarge'"


def _gpu_memory_bytes(type_: str, size: str) -> int | None:
    if type_ not in _GPU_MEMORY_GIB:
        return None
    return _GPUS.get((type_, size), 1) * _GPU_MEMORY_GIB[type_] * 2**30
