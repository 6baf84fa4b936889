"""Application Auto Scaling: scalable targets, their policies, and the instances that follow them.

Only variants of endpoints are scaled, by target tracking on concurrent requests.
"""

import contextlib
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from local_cloud.cloud import ACCOUNT_ID, REGION
from local_cloud.endpoint import Endpoint
from local_cloud.errors import ObjectNotFoundError, ValidationError
from local_cloud.json_api import JsonApi, Parameters
from local_cloud.resources import Record, Table, now
from local_cloud.running_variant import RunningVariant
from local_cloud.target_tracking import CONCURRENCY_METRIC, SAMPLE_SECONDS, TargetTracking

_TARGET_KEY = ("ServiceNamespace", "ResourceId", "ScalableDimension")
_SERVICE_ROLE = f"arn:aws:iam::{ACCOUNT_ID}:role/aws-service-role/sagemaker.application-autoscaling.amazonaws.com/Local"
_VARIANT = re.compile(r"endpoint/(?P<endpoint>[^/]+)/variant/(?P<variant>[^/]+)")
_log = logging.getLogger(__name__)
Key = tuple[str, ...]


class ApplicationAutoScaling:
    """The service. `api` answers its operations; a thread looks at the load of the variants once a second."""

    def __init__(self, endpoints: Table[Endpoint]) -> None:
        self._endpoints = endpoints
        self._lock = threading.Lock()
        self._targets: dict[Key, Record] = {}
        self._policies: dict[Key, Record] = {}
        self._tracking: dict[Key, TargetTracking] = {}
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
        threading.Thread(target=self._follow_load, name="autoscaling", daemon=True).start()

    def _register(self, parameters: Parameters) -> Parameters:
        key = _key(parameters)
        endpoint, variant = self._variant(key)
        known = self._targets.get(key, {})
        target_id = uuid.uuid4().hex
        arn = f"arn:aws:application-autoscaling:{REGION}:{ACCOUNT_ID}:scalable-target/{target_id}"
        defaults = {"RoleARN": _SERVICE_ROLE, "CreationTime": now(), "ScalableTargetARN": arn}
        described = {name: value for name, value in parameters.items() if name != "Tags"}
        target = {**defaults, **known, **described}
        if not target.get("MinCapacity", 0) <= target.get("MaxCapacity", 0):
            raise ValidationError("Maximum capacity cannot be less than minimum capacity.")
        with self._lock:
            self._targets[key] = target
        endpoint.scaled_variants.add(variant.name)
        return {"ScalableTargetARN": target["ScalableTargetARN"]}

    def _deregister(self, parameters: Parameters) -> Parameters:
        key = self._registered(parameters)
        with self._lock:
            del self._targets[key]
            for policy in [policy for policy in self._policies if policy[:3] == key]:
                self._forget(policy)
        match = _VARIANT.fullmatch(key[1])
        for endpoint in self._endpoints.items():
            if match and endpoint.name == match["endpoint"]:
                endpoint.scaled_variants.discard(match["variant"])
        return {}

    def _put_policy(self, parameters: Parameters) -> Parameters:
        key = (*self._registered(parameters), parameters["PolicyName"])
        resource = f"{parameters['ServiceNamespace']}/{parameters['ResourceId']}"
        name = f"{uuid.uuid4()}:resource/{resource}:policyName/{parameters['PolicyName']}"
        arn = f"arn:aws:autoscaling:{REGION}:{ACCOUNT_ID}:scalingPolicy:{name}"
        known = self._policies.get(key, {"PolicyARN": arn, "CreationTime": now(), "Alarms": []})
        tracking = TargetTracking(_target_tracking(parameters))
        with self._lock:
            self._policies[key] = {**known, **parameters}
            self._tracking[key] = tracking
        return {"PolicyARN": self._policies[key]["PolicyARN"], "Alarms": []}

    def _delete_policy(self, parameters: Parameters) -> Parameters:
        key = (*_key(parameters), parameters["PolicyName"])
        if key not in self._policies:
            raise ObjectNotFoundError(f"No scaling policy found for {', '.join(key)}.")
        with self._lock:
            self._forget(key)
        return {}

    def _forget(self, policy: Key) -> None:
        del self._policies[policy]
        del self._tracking[policy]

    def _registered(self, parameters: Parameters) -> Key:
        key = _key(parameters)
        if key not in self._targets:
            raise ObjectNotFoundError(f"No scalable target registered for {', '.join(key)}.")
        return key

    def _variant(self, key: Key) -> tuple[Endpoint, RunningVariant]:
        """The endpoint and the variant that a target is.

        Raises:
            ValidationError: there is no such endpoint, or it has no such variant.
        """
        match = _VARIANT.fullmatch(key[1])
        if match is None or key[2] != "sagemaker:variant:DesiredInstanceCount":
            raise ValidationError(
                f"The local cloud scales endpoint/<name>/variant/<name> by sagemaker:variant:DesiredInstanceCount, "
                f"not {key[1]} by {key[2]}."
            )
        endpoint = self._endpoints.get(match["endpoint"])
        for variant in endpoint.variants:
            if variant.name == match["variant"]:
                return endpoint, variant
        raise ValidationError(f"Endpoint {endpoint.name} has no variant {match['variant']}.")

    def _follow_load(self) -> None:
        while True:
            time.sleep(SAMPLE_SECONDS)
            with self._lock:
                tracked = [(key, self._targets[key[:3]], tracking) for key, tracking in self._tracking.items()]
            for key, target, tracking in tracked:
                with contextlib.suppress(ValidationError):  # it is gone, or an update has just begun
                    self._adjust(key, target, tracking)

    def _adjust(self, key: Key, target: Record, tracking: TargetTracking) -> None:
        endpoint, variant = self._variant(key[:3])
        if endpoint.status != "InService":
            return
        count = variant.desired_count
        wanted = tracking.wanted(time.monotonic(), variant.outstanding, count)
        wanted = min(max(wanted, target["MinCapacity"]), target["MaxCapacity"])
        if wanted != count:
            _log.info("%s: from %d to %d instances", key[1], count, wanted)
            endpoint.scale({variant.name: wanted}, {})


def _target_tracking(parameters: Parameters) -> Record:
    """The configuration of a policy.

    Raises:
        ValidationError: it is not target tracking on concurrent requests.
    """
    policy: Record = parameters.get("TargetTrackingScalingPolicyConfiguration", {})
    metric = policy.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    if parameters.get("PolicyType") != "TargetTrackingScaling" or metric != CONCURRENCY_METRIC:
        raise ValidationError(
            f"The local cloud takes policies of type TargetTrackingScaling on {CONCURRENCY_METRIC}, not "
            f"{parameters.get('PolicyType')} on {metric}."
        )
    return policy


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
