"""The rules of a production variant that botocore's model does not carry."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local_cloud.errors import ValidationError

_CAPACITY = ("InstanceType", "InstancePools", "ServerlessConfig")
_PRIORITIES = range(1, 6)

# The platform's defaults.
STARTUP_TIMEOUT_SECONDS = 480
DOWNLOAD_TIMEOUT_SECONDS = 3600


def check_variants(variants: Sequence[Mapping[str, Any]]) -> None:
    """Check the variants of an endpoint configuration, all at once.

    Raises:
        ValidationError: lists everything that is wrong, with the variant it is wrong in.
    """
    problems = list(_duplicates("production variant name", [variant["VariantName"] for variant in variants]))
    for variant in variants:
        problems += [f"Production variant {variant['VariantName']}: {problem}" for problem in _problems(variant)]
    if problems:
        raise ValidationError(" ".join(problems))


def _problems(variant: Mapping[str, Any]) -> Iterator[str]:
    given = [name for name in _CAPACITY if variant.get(name)]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        yield f"exactly one of {', '.join(_CAPACITY)} is required, found {found}."
    pools = variant.get("InstancePools", [])
    yield from _duplicates("instance type in InstancePools", [pool["InstanceType"] for pool in pools])
    priorities = [pool["Priority"] for pool in pools if "Priority" in pool]
    yield from _duplicates("priority in InstancePools", priorities)
    for priority in priorities:
        if priority not in _PRIORITIES:
            yield f"priority {priority} in InstancePools is not between 1 and {_PRIORITIES[-1]}."
    if "VariantInstanceProvisionTimeoutInSeconds" in variant and not pools:
        yield "VariantInstanceProvisionTimeoutInSeconds is only valid with InstancePools."
    if variant.get("ServerlessConfig") and "InitialInstanceCount" in variant:
        yield "InitialInstanceCount is not valid with ServerlessConfig."


def _duplicates(what: str, values: Sequence[object]) -> Iterator[str]:
    for value in dict.fromkeys(value for value in values if values.count(value) > 1):
        yield f"duplicate {what}: {value}."
