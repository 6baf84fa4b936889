"""Decisions in bulk, without an endpoint: the settings `[batch]`."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from decision_constructs.instance_type import Accelerator, InstanceType, nearest, transform_types
from decision_constructs.section import Problem, Raw, Section


class Batch(Section):
    """What a transform job runs on. The container is the decision contract's, with the limits of `[decision]`."""

    instance_type: str
    instance_count: Annotated[int, Field(ge=1, le=100, description="1 to 100 instances")] = 1
    threads: Annotated[int, Field(ge=1, le=192, description="1 to 192 threads")] | None = None
    timeout_seconds: Annotated[int, Field(ge=10, le=3600, description="10 to 3600 seconds for one record")] = 300
    max_retries: Annotated[int, Field(ge=0, le=3, description="0 to 3 times a record is sent again")] = 3

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """A CPU type that jobs run on: they have NVIDIA drivers up to 535, and the GPU image wants 580 for CUDA 13."""
        name = raw.get("instance_type")
        if not isinstance(name, str):
            return
        try:
            problem = _problem(InstanceType.parse(name))
        except ValueError as error:
            problem = str(error)
        if problem:
            yield ("instance_type",), problem


def _problem(type_: InstanceType) -> str | None:
    if type_.accelerator is Accelerator.CUDA:
        return f"{type_.name!r}: the GPU drivers of batch transform are too old for the GPU image; use a CPU family"
    if type_.name not in transform_types():
        return f"{type_.name!r} is not an instance type of batch transform; {nearest(type_.name, transform_types())}"
    return None
