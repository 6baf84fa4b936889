"""The CloudFormation resource types that MiniStack lacks, on top of the services' own APIs.

A handler's `create` and `update` answer with the physical id (what `Ref` gives) and the attributes (`Fn::GetAtt`). An
update that answers with another physical id is a replacement: CloudFormation deletes the old resource when the whole
update has succeeded, and the new one when it has not.
"""

import secrets
import string
from collections.abc import Mapping
from typing import Any, Protocol

from local_cloud.autoscaling import ApplicationAutoScaling
from local_cloud.errors import ApiError, ContainerError, ValidationError
from local_cloud.request_validation import members
from local_cloud.resources import ENDPOINT, ENDPOINT_CONFIG, MODEL, Kind
from local_cloud.sagemaker import SageMaker

Properties = Mapping[str, Any]
Provisioned = tuple[str, dict[str, str]]

_NAME_CHARACTERS = 63
_SUFFIX_CHARACTERS = 12
_TARGET_KEY = ("ResourceId", "ScalableDimension", "ServiceNamespace")


class ResourceHandler(Protocol):
    """How one resource type is provisioned. Every method may block, and raises what failed."""

    def create(self, logical_id: str, properties: Properties) -> Provisioned:
        """Make the resource."""

    def update(self, physical_id: str, logical_id: str, old: Properties, new: Properties) -> Provisioned:
        """Bring the resource to its new properties."""

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Remove the resource; one that is gone already is no error."""


def resource_handlers(sagemaker: SageMaker, scaling: ApplicationAutoScaling) -> dict[str, ResourceHandler]:
    """The handlers by resource type."""
    return {
        "AWS::SageMaker::Model": ImmutableResource(sagemaker, MODEL),
        "AWS::SageMaker::EndpointConfig": ImmutableResource(sagemaker, ENDPOINT_CONFIG),
        "AWS::SageMaker::Endpoint": EndpointResource(sagemaker),
        "AWS::ApplicationAutoScaling::ScalableTarget": ScalableTargetResource(scaling),
        "AWS::ApplicationAutoScaling::ScalingPolicy": ScalingPolicyResource(scaling),
    }


class ImmutableResource:
    """AWS::SageMaker::Model and EndpointConfig: any change but one of tags is a replacement."""

    def __init__(self, sagemaker: SageMaker, kind: Kind) -> None:
        self._sagemaker = sagemaker
        self._kind = kind

    def create(self, logical_id: str, properties: Properties) -> Provisioned:
        """Make it, under a generated name unless it has one."""
        name_property = f"{self._kind.name}Name"
        name = properties.get(name_property) or _generated_name(logical_id)
        parameters = {**properties, name_property: name}
        arn = self._sagemaker.api.call(f"Create{self._kind.name}", parameters)[f"{self._kind.name}Arn"]
        return arn, {name_property: name, "Id": arn}

    def update(self, physical_id: str, logical_id: str, old: Properties, new: Properties) -> Provisioned:
        """Replace it; a change of tags alone happens in place."""
        name = self._sagemaker.name_of(self._kind, physical_id)
        if name is None or _without_tags(old) != _without_tags(new):
            return self.create(logical_id, new)
        _replace_tags(self._sagemaker, physical_id, new)
        return physical_id, {f"{self._kind.name}Name": name, "Id": physical_id}

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Remove it."""
        name = self._sagemaker.name_of(self._kind, physical_id)
        if name is not None:
            self._sagemaker.api.call(f"Delete{self._kind.name}", {f"{self._kind.name}Name": name})


class EndpointResource:
    """AWS::SageMaker::Endpoint: provisioned when it serves, failed with its FailureReason when it does not."""

    def __init__(self, sagemaker: SageMaker) -> None:
        self._sagemaker = sagemaker

    def create(self, logical_id: str, properties: Properties) -> Provisioned:
        """Make it and wait until it is InService; one that fails is removed."""
        name = properties.get("EndpointName") or _generated_name(logical_id)
        parameters = {**_accepted(properties, "CreateEndpoint"), "EndpointName": name}
        arn = self._sagemaker.api.call("CreateEndpoint", parameters)["EndpointArn"]
        try:
            self._wait(name)
        except ContainerError:
            self._sagemaker.api.call("DeleteEndpoint", {"EndpointName": name})
            raise
        return arn, {"EndpointName": name}

    def update(self, physical_id: str, logical_id: str, old: Properties, new: Properties) -> Provisioned:
        """Move it to another endpoint configuration; another name is a replacement."""
        name = self._sagemaker.name_of(ENDPOINT, physical_id)
        if name is None or old.get("EndpointName") != new.get("EndpointName"):
            return self.create(logical_id, new)
        _replace_tags(self._sagemaker, physical_id, new)
        if _without_tags(old) != _without_tags(new):
            parameters = {**_accepted(new, "UpdateEndpoint"), "EndpointName": name}
            self._sagemaker.endpoints.get(name).settled.wait()  # it may be scaling
            self._sagemaker.api.call("UpdateEndpoint", parameters)
            self._wait(name)
        return physical_id, {"EndpointName": name}

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Remove it and wait for the end of its containers."""
        name = self._sagemaker.name_of(ENDPOINT, physical_id)
        if name is not None:
            self._sagemaker.endpoints.get(name).settled.wait()
            self._sagemaker.api.call("DeleteEndpoint", {"EndpointName": name})

    def _wait(self, name: str) -> None:
        # Bounded by the time-outs of the deployed variants.
        endpoint = self._sagemaker.endpoints.get(name)
        endpoint.settled.wait()
        if endpoint.failure_reason:
            raise ContainerError(endpoint.failure_reason)


class ScalableTargetResource:
    """AWS::ApplicationAutoScaling::ScalableTarget."""

    def __init__(self, scaling: ApplicationAutoScaling) -> None:
        self._api = scaling.api

    def create(self, logical_id: str, properties: Properties) -> Provisioned:
        """Register it."""
        parameters = dict(properties)
        if parameters.pop("ScheduledActions", None):
            raise ValidationError(f"{logical_id}: the local cloud has no ScheduledActions; leave them out here.")
        self._api.call("RegisterScalableTarget", parameters)
        physical_id = "|".join(properties[name] for name in _TARGET_KEY)
        return physical_id, {"Id": physical_id}

    def update(self, physical_id: str, logical_id: str, old: Properties, new: Properties) -> Provisioned:
        """Register it anew, which changes what is there."""
        return self.create(logical_id, new)

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Deregister it."""
        _delete_if_there(self._api.call, "DeregisterScalableTarget", _target_of(physical_id))


class ScalingPolicyResource:
    """AWS::ApplicationAutoScaling::ScalingPolicy."""

    def __init__(self, scaling: ApplicationAutoScaling) -> None:
        self._api = scaling.api

    def create(self, logical_id: str, properties: Properties) -> Provisioned:
        """Put it, on the target that its id or its three properties name."""
        arn = self._api.call("PutScalingPolicy", _policy_parameters(properties))["PolicyARN"]
        return arn, {"Arn": arn}

    def update(self, physical_id: str, logical_id: str, old: Properties, new: Properties) -> Provisioned:
        """Put it anew; another name or target gives another ARN, which is a replacement."""
        return self.create(logical_id, new)

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete it."""
        parameters = _policy_parameters(properties)
        key = {name: parameters[name] for name in ("PolicyName", *_TARGET_KEY)}
        _delete_if_there(self._api.call, "DeleteScalingPolicy", key)


def _policy_parameters(properties: Properties) -> dict[str, Any]:
    parameters = dict(properties)
    target = parameters.pop("ScalingTargetId", None)
    return {**parameters, **(_target_of(target) if target else {})}


def _target_of(physical_id: str) -> dict[str, str]:
    return dict(zip(_TARGET_KEY, physical_id.split("|"), strict=True))


def _delete_if_there(call: Any, operation: str, parameters: Mapping[str, Any]) -> None:
    try:
        call(operation, parameters)
    except ApiError as error:
        if error.code != "ObjectNotFoundException":
            raise


def _accepted(properties: Properties, operation: str) -> dict[str, Any]:
    """The properties an operation has; the others belong to its sibling (RetainDeploymentConfig, Tags)."""
    siblings = members("sagemaker", "CreateEndpoint") | members("sagemaker", "UpdateEndpoint")
    wanted = members("sagemaker", operation)
    return {name: value for name, value in properties.items() if name in wanted or name not in siblings}


def _without_tags(properties: Properties) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if name != "Tags"}


def _replace_tags(sagemaker: SageMaker, arn: str, properties: Properties) -> None:
    known = sagemaker.api.call("ListTags", {"ResourceArn": arn})["Tags"]
    wanted = {tag["Key"] for tag in properties.get("Tags", [])}
    gone = [tag["Key"] for tag in known if tag["Key"] not in wanted]
    if gone:
        sagemaker.api.call("DeleteTags", {"ResourceArn": arn, "TagKeys": gone})
    if wanted:
        sagemaker.api.call("AddTags", {"ResourceArn": arn, "Tags": properties["Tags"]})


def _generated_name(logical_id: str) -> str:
    """A name as CloudFormation makes one for these types: the logical id and twelve characters."""
    suffix = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(_SUFFIX_CHARACTERS))
    return f"{logical_id[: _NAME_CHARACTERS - _SUFFIX_CHARACTERS - 1]}-{suffix}"
