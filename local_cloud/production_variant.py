"""The rules of a production variant that botocore's model does not carry."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local_cloud.endpoint import Endpoint, Fleet
from local_cloud.errors import ValidationError
from local_cloud.resources import Record, Table

_CAPACITY = ("InstanceType", "InstancePools", "ServerlessConfig")
_PRIORITIES = range(1, 6)


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


def check_scaled_variants(endpoint: Endpoint, variants: Sequence[Mapping[str, Any]], configs: Table[Record]) -> None:
    """Check that an update leaves the variants that Application Auto Scaling scales, on the types they are on.

    Raises:
        ValidationError: it removes one, or changes its instance types.
    """
    if not endpoint.scaled_variants:
        return
    served = {one["VariantName"]: one for one in configs.get(endpoint.config_name)["ProductionVariants"]}
    wanted = {one["VariantName"]: one for one in variants}
    changed = [
        name
        for name in sorted(endpoint.scaled_variants)
        if name not in wanted or _instance_types(wanted[name]) != _instance_types(served[name])
    ]
    if changed:
        raise ValidationError(
            f"The variants {', '.join(changed)} must be deregistered as scalable targets with AutoScaling before they "
            "can be removed or have their instance type updated."
        )


def with_retained(variants: Sequence[Mapping[str, Any]], serving: Fleet, excluded: set[str]) -> list[Mapping[str, Any]]:
    """Variants with the numbers of instances and the weights of those that serve under their names.

    Args:
        variants: of the new endpoint configuration.
        serving: of the endpoint.
        excluded: the VariantPropertyTypes that are not retained.
    """
    known = {variant.name: variant for variant in serving}

    def retained(variant: Mapping[str, Any]) -> Mapping[str, Any]:
        now = known.get(variant["VariantName"])
        if now is None:
            return variant
        count = {} if "DesiredInstanceCount" in excluded else {"InitialInstanceCount": now.desired_count}
        weight = {} if "DesiredWeight" in excluded else {"InitialVariantWeight": now.weight}
        return {**variant, **count, **weight}

    return [retained(variant) for variant in variants]


def _instance_types(variant: Mapping[str, Any]) -> list[str]:
    pools = variant.get("InstancePools") or [variant]
    return sorted(pool.get("InstanceType", "") for pool in pools)


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
