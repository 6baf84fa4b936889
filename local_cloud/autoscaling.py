"""Application Auto Scaling: scalable targets and their policies are kept and described; nothing is scaled here."""

import uuid
from collections.abc import Callable
from typing import Any

from local_cloud.cloud import ACCOUNT_ID, REGION
from local_cloud.errors import ObjectNotFoundError
from local_cloud.json_api import JsonApi, Parameters
from local_cloud.resources import Record, now

_TARGET_KEY = ("ServiceNamespace", "ResourceId", "ScalableDimension")
_SERVICE_ROLE = f"arn:aws:iam::{ACCOUNT_ID}:role/aws-service-role/sagemaker.application-autoscaling.amazonaws.com/Local"
Key = tuple[str, ...]


class ApplicationAutoScaling:
    """The service. `api` answers its operations."""

    def __init__(self) -> None:
        self._targets: dict[Key, Record] = {}
        self._policies: dict[Key, Record] = {}
        self.api = JsonApi(
            "application-autoscaling",
            {
                "RegisterScalableTarget": self._register,
                "DescribeScalableTargets": lambda p: {"ScalableTargets": _matching(self._targets, p)},
                "DeregisterScalableTarget": self._deregister,
                "PutScalingPolicy": self._put_policy,
                "DescribeScalingPolicies": lambda p: {"ScalingPolicies": _matching(self._policies, p)},
                "DeleteScalingPolicy": self._delete_policy,
            },
        )

    def _register(self, parameters: Parameters) -> Parameters:
        key = _key(parameters)
        known = self._targets.get(key, {})
        target_id = uuid.uuid4().hex
        arn = f"arn:aws:application-autoscaling:{REGION}:{ACCOUNT_ID}:scalable-target/{target_id}"
        defaults = {"RoleARN": _SERVICE_ROLE, "CreationTime": now(), "ScalableTargetARN": arn}
        described = {name: value for name, value in parameters.items() if name != "Tags"}
        self._targets[key] = {**defaults, **known, **described}
        return {"ScalableTargetARN": self._targets[key]["ScalableTargetARN"]}

    def _deregister(self, parameters: Parameters) -> Parameters:
        key = self._registered(parameters)
        del self._targets[key]
        self._policies = {policy: record for policy, record in self._policies.items() if policy[:3] != key}
        return {}

    def _put_policy(self, parameters: Parameters) -> Parameters:
        key = (*self._registered(parameters), parameters["PolicyName"])
        resource = f"{parameters['ServiceNamespace']}/{parameters['ResourceId']}"
        name = f"{uuid.uuid4()}:resource/{resource}:policyName/{parameters['PolicyName']}"
        arn = f"arn:aws:autoscaling:{REGION}:{ACCOUNT_ID}:scalingPolicy:{name}"
        known = self._policies.get(key, {"PolicyARN": arn, "CreationTime": now(), "Alarms": []})
        self._policies[key] = {**known, **parameters}
        return {"PolicyARN": self._policies[key]["PolicyARN"], "Alarms": []}

    def _delete_policy(self, parameters: Parameters) -> Parameters:
        key = (*_key(parameters), parameters["PolicyName"])
        if key not in self._policies:
            raise ObjectNotFoundError(f"No scaling policy found for {', '.join(key)}.")
        del self._policies[key]
        return {}

    def _registered(self, parameters: Parameters) -> Key:
        key = _key(parameters)
        if key not in self._targets:
            raise ObjectNotFoundError(f"No scalable target registered for {', '.join(key)}.")
        return key


def _key(parameters: Parameters) -> Key:
    return tuple(parameters[name] for name in _TARGET_KEY)


def _matching(records: dict[Key, Record], parameters: Parameters) -> list[Record]:
    filters: list[Callable[[Record], bool]] = [
        _equals(name, parameters[name]) for name in _TARGET_KEY if name in parameters
    ]
    for plural, name in (("ResourceIds", "ResourceId"), ("PolicyNames", "PolicyName")):
        if parameters.get(plural):
            filters.append(_is_in(name, parameters[plural]))
    return [record for record in records.values() if all(matches(record) for matches in filters)]


def _equals(name: str, value: Any) -> Callable[[Record], bool]:
    return lambda record: bool(record.get(name) == value)


def _is_in(name: str, values: list[Any]) -> Callable[[Record], bool]:
    return lambda record: record.get(name) in values
