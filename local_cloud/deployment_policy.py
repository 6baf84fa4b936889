"""How an update of an endpoint moves its traffic: the DeploymentConfig of CreateEndpoint and UpdateEndpoint.

    ALL_AT_ONCE   100 % ─ bake
    CANARY        canary ─ bake ─ 100 % ─ bake
    LINEAR        step ─ bake ─ two steps ─ bake ─ … ─ 100 % ─ bake

A bake is a wait in which the alarms named are watched. The old fleet ends after another wait.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_cloud.errors import ValidationError

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient

_POLL_SECONDS = 0.2
_MOST_PERCENT = 50
_LEAST_LINEAR_PERCENT = 10
_DEFAULT_TIMEOUT_SECONDS = 28_800


class Alarms:
    """The CloudWatch alarms of the cloud."""

    def __init__(self, cloudwatch: "CloudWatchClient") -> None:
        self._cloudwatch = cloudwatch

    def check(self, names: Sequence[str]) -> None:
        """Make sure that alarms exist.

        Raises:
            ValidationError: lists those that do not.
        """
        missing = sorted(set(names) - self._states(names).keys())
        if missing:
            raise ValidationError(f"AutoRollbackConfiguration names alarms that do not exist: {', '.join(missing)}.")

    def tripped(self, names: Sequence[str]) -> list[str]:
        """The alarms in state ALARM, each with CloudWatch's reason."""
        return [f"{name} ({why})" for name, (state, why) in self._states(names).items() if state == "ALARM"]

    def _states(self, names: Sequence[str]) -> dict[str, tuple[str, str]]:
        if not names:
            return {}
        found = self._cloudwatch.describe_alarms(AlarmNames=list(names), AlarmTypes=["MetricAlarm", "CompositeAlarm"])
        alarms: list[Any] = [*found.get("MetricAlarms", []), *found.get("CompositeAlarms", [])]
        return {alarm["AlarmName"]: (alarm["StateValue"], alarm.get("StateReason", "")) for alarm in alarms}


@dataclass(frozen=True)
class DeploymentPolicy:
    """Shares of the traffic the new fleet gets one after the other, and the waits. The default: at once, no wait."""

    shares: tuple[float, ...] = (1.0,)
    bake_seconds: int = 0
    termination_wait_seconds: int = 0
    alarm_names: tuple[str, ...] = ()

    def bake(self, alarms: Alarms) -> list[str]:
        """Wait and watch; returns the alarms that went off, at once when one does."""
        deadline = time.monotonic() + self.bake_seconds
        while (left := deadline - time.monotonic()) > 0:
            if tripped := alarms.tripped(self.alarm_names):
                return tripped
            time.sleep(min(left, _POLL_SECONDS))
        return []


def deployment_policy(config: Mapping[str, Any], instance_counts: Sequence[int]) -> DeploymentPolicy:
    """The policy that a DeploymentConfig asks for; of an empty one, the default.

    Args:
        config: as the API takes it.
        instance_counts: of the variants that are deployed.

    Raises:
        ValidationError: lists what AWS would refuse, and what the local cloud lacks.
    """
    if "RollingUpdatePolicy" in config:
        raise ValidationError("The local cloud has no RollingUpdatePolicy; use BlueGreenUpdatePolicy.")
    policy = config.get("BlueGreenUpdatePolicy", {})
    alarm_names = tuple(one["AlarmName"] for one in config.get("AutoRollbackConfiguration", {}).get("Alarms", []))
    if not policy:
        return DeploymentPolicy(alarm_names=alarm_names)
    problems = list(_problems(policy, min(instance_counts)))
    if problems:
        raise ValidationError(" ".join(problems))
    routing = policy["TrafficRoutingConfiguration"]
    return DeploymentPolicy(
        shares=_shares(routing, min(instance_counts)),
        bake_seconds=routing["WaitIntervalInSeconds"],
        termination_wait_seconds=policy.get("TerminationWaitInSeconds", 0),
        alarm_names=alarm_names,
    )


_SIZE_OF = {"CANARY": "CanarySize", "LINEAR": "LinearStepSize"}


def _problems(policy: Mapping[str, Any], instance_count: int) -> Iterator[str]:
    routing = policy["TrafficRoutingConfiguration"]
    wanted = _SIZE_OF.get(routing["Type"])
    for size in _SIZE_OF.values():
        if size != wanted and size in routing:
            yield f"{size} is not valid with the type {routing['Type']}."
    if wanted and wanted not in routing:
        yield f"{wanted} is required with the type {routing['Type']}."
    elif wanted:
        percent = 100 * _share(routing[wanted], instance_count)
        least = _LEAST_LINEAR_PERCENT if wanted == "LinearStepSize" else 1
        if not least <= percent <= _MOST_PERCENT:
            yield (
                f"{wanted} is {percent:.0f} % of the {instance_count} instances of the variant; it must be {least} to "
                f"{_MOST_PERCENT} %."
            )
            return
        waits = routing["WaitIntervalInSeconds"] * len(_shares(routing, instance_count))
        waits += policy.get("TerminationWaitInSeconds", 0)
        limit = policy.get("MaximumExecutionTimeoutInSeconds", _DEFAULT_TIMEOUT_SECONDS)
        if waits >= limit:
            yield f"The waits add up to {waits} s; MaximumExecutionTimeoutInSeconds is {limit}."


def _shares(routing: Mapping[str, Any], instance_count: int) -> tuple[float, ...]:
    match routing["Type"]:
        case "CANARY":
            return (_share(routing["CanarySize"], instance_count), 1.0)
        case "LINEAR":
            step = _share(routing["LinearStepSize"], instance_count)
            return (*(step * number for number in range(1, int(1 / step - 1e-9) + 1)), 1.0)
        case _:
            return (1.0,)


def _share(size: Mapping[str, Any], instance_count: int) -> float:
    """A size as a share of whole instances: at least one takes traffic."""
    value: int = size["Value"]
    if size["Type"] == "CAPACITY_PERCENT":
        value = max(1, round(value / 100 * instance_count))
    return value / instance_count
