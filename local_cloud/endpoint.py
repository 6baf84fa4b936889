"""An endpoint and its life: Creating → InService ⇄ Updating → Deleting, or Failed.

Each deployment runs on a thread of its own. It starts the instances of the new configuration beside the old ones, waits
until all are healthy, moves the traffic over as the deployment policy says, and only then ends the old ones
(blue/green). When one is not healthy, or an alarm goes off on the way, all traffic is the old fleet's again and the new
one ends; an endpoint that never served is Failed.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from local_cloud.container import Container
from local_cloud.deployment_policy import Alarms, DeploymentPolicy
from local_cloud.errors import DeploymentRolledBackError, LocalCloudError, ValidationError
from local_cloud.resources import ENDPOINT, Record, now
from local_cloud.running_variant import RunningVariant

_REASON_CHARACTERS = 1024
_log = logging.getLogger(__name__)
_BUSY = ("Creating", "Updating", "Deleting")

Fleet = tuple[RunningVariant, ...]
# The variants of a configuration, none of their instances started yet.
DescribeFleet = Callable[[str, Sequence[Mapping[str, Any]]], Fleet]


@dataclass(frozen=True)
class Route:
    """Where a request goes. `container` is None when no instance of the variant runs; else `release` it."""

    variant: RunningVariant
    container: Container | None

    def release(self) -> None:
        """Tell that the request has been answered."""
        if self.container is not None:
            self.variant.release(self.container)


@dataclass
class Endpoint:
    """One endpoint. `variants` serve; while traffic shifts, those of `_green` get `_green_share` of it.

    `scaled_variants` are the names of those that Application Auto Scaling changes.
    """

    name: str
    describe_fleet: DescribeFleet
    alarms: Alarms
    config_name: str = ""
    status: str = "Creating"
    failure_reason: str = ""
    deployment_config: Record = field(default_factory=dict)
    variants: Fleet = ()
    scaled_variants: set[str] = field(default_factory=set)
    created: float = field(default_factory=now)
    modified: float = field(default_factory=now)
    settled: threading.Event = field(default_factory=threading.Event)
    _green: Fleet = ()
    _green_share: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def deploy(self, config: Record, variants: Sequence[Mapping[str, Any]], policy: DeploymentPolicy) -> None:
        """Start to bring a configuration into service; `settled` is set when that has succeeded or failed.

        Args:
            config: the endpoint configuration.
            variants: its variants, with what is retained of those that serve.
            policy: how the traffic moves.

        Raises:
            ValidationError: another deployment is under way, or the first one failed.
        """
        fleet = self.describe_fleet(self.name, variants)
        self._begin()
        self.config_name = self.config_name or config["EndpointConfigName"]
        counts = [variant.get("InitialInstanceCount", 1) for variant in variants]
        self._run(lambda: self._replace(config["EndpointConfigName"], fleet, counts, policy))

    def scale(self, desired: Mapping[str, int], weights: Mapping[str, float]) -> None:
        """Start to bring variants, by name, to other numbers of instances and weights; `settled` tells the end.

        Raises:
            ValidationError: another change is under way, or a variant is unknown.
        """
        unknown = sorted({*desired, *weights} - {variant.name for variant in self.variants})
        if unknown:
            raise ValidationError(f'Endpoint "{ENDPOINT.arn(self.name)}" has no variant {", ".join(unknown)}.')
        self._begin()
        for variant in self.variants:
            variant.weight = weights.get(variant.name, variant.weight)
        changed = [(variant, desired[variant.name]) for variant in self.variants if variant.name in desired]
        self._run(lambda: _scale(changed))

    def delete(self) -> None:
        """End the containers; the endpoint is of no use afterwards.

        Raises:
            ValidationError: a deployment is under way.
        """
        with self._lock:
            if self.status in _BUSY:
                raise ValidationError(
                    f'Cannot delete endpoint "{ENDPOINT.arn(self.name)}" while its status is {self.status}.'
                )
            self.status = "Deleting"
            ending, self.variants = self.variants, ()
        _stop(ending)

    def route(self, variant_name: str | None = None) -> Route | None:
        """Where a request goes: to the variant named, else to one by weight; None when there is none."""
        with self._lock:
            fleet = self._green if random.random() < self._green_share else self.variants
            candidates = [variant for variant in fleet if variant_name in (None, variant.name)]
            if not candidates:
                return None
            weights = [variant.weight for variant in candidates]
            chosen = random.choices(candidates, weights if any(weights) else None)[0]
            return Route(chosen, chosen.acquire())

    def describe(self) -> Record:
        """What DescribeEndpoint answers."""
        record: Record = {
            "EndpointName": self.name,
            "EndpointArn": ENDPOINT.arn(self.name),
            "EndpointConfigName": self.config_name,
            "EndpointStatus": self.status,
            "CreationTime": self.created,
            "LastModifiedTime": self.modified,
            "ProductionVariants": [
                {
                    "VariantName": variant.name,
                    "DeployedImages": [{"SpecifiedImage": variant.image, "ResolvedImage": variant.image}],
                    "CurrentWeight": variant.weight,
                    "DesiredWeight": variant.weight,
                    "CurrentInstanceCount": variant.instance_count,
                    "DesiredInstanceCount": variant.desired_count,
                }
                for variant in self.variants
            ],
        }
        if self.failure_reason:
            record["FailureReason"] = self.failure_reason
        if self.deployment_config:
            record["LastDeploymentConfig"] = self.deployment_config
        return record

    def _begin(self) -> None:
        with self._lock:
            if self.config_name and self.status in _BUSY:
                raise ValidationError(f'Cannot update in-progress endpoint "{ENDPOINT.arn(self.name)}".')
            if self.status == "Failed":
                raise ValidationError(f'Cannot update failed endpoint "{ENDPOINT.arn(self.name)}"; delete it.')
            self.status = "Updating" if self.variants else "Creating"
            self.modified = now()
            self.settled.clear()

    def _run(self, change: Callable[[], None]) -> None:
        """Make a change on a thread of its own, and say how it went."""

        def run() -> None:
            reason = ""
            try:
                change()
            except Exception as error:  # noqa: BLE001  # whatever it is, the endpoint must settle and tell
                reason = _reason(error)
            self.failure_reason = reason
            self.modified = now()
            self.status = "InService" if self.variants else "Failed"
            self.settled.set()

        threading.Thread(target=run, name=f"deploy-{self.name}", daemon=True).start()

    def _replace(self, config_name: str, fleet: Fleet, counts: Sequence[int], policy: DeploymentPolicy) -> None:
        try:
            _scale(list(zip(fleet, counts, strict=True)))
            if self.variants:
                self._shift(fleet, policy)
        except BaseException:
            self._shift_to((), 0.0)
            _stop(fleet)
            raise
        with self._lock:
            old, self.variants = self.variants, fleet
            self._green, self._green_share = (), 0.0
            self.config_name = config_name
        if old:
            time.sleep(policy.termination_wait_seconds)
            _stop(old)

    def _shift(self, fleet: Fleet, policy: DeploymentPolicy) -> None:
        """Move the traffic in steps.

        Raises:
            DeploymentRolledBackError: an alarm went off.
        """
        for share in policy.shares:
            self._shift_to(fleet, share)
            if tripped := policy.bake(self.alarms):
                logs = ", ".join(path for variant in fleet for path in variant.log_paths)
                raise DeploymentRolledBackError(
                    f"Rolled back with {share:.0%} of the traffic on the new fleet: alarm {'; '.join(tripped)} is in "
                    f"state ALARM (log of the new fleet: {logs})."
                )

    def _shift_to(self, green: Fleet, share: float) -> None:
        with self._lock:
            self._green, self._green_share = green, share


def _scale(changes: Sequence[tuple[RunningVariant, int]]) -> None:
    """Bring variants to their numbers of instances, all at a time; raises the first failure when all have ended."""
    with ThreadPoolExecutor(max(1, len(changes))) as pool:
        scaling = [pool.submit(variant.scale, count) for variant, count in changes]
    for one in scaling:
        one.result()


def _stop(variants: Fleet) -> None:
    _scale([(variant, 0) for variant in variants])


def _reason(error: BaseException) -> str:
    if not isinstance(error, LocalCloudError):
        _log.error("a change of an endpoint failed", exc_info=error)
    text = str(error) if isinstance(error, LocalCloudError) else f"{type(error).__name__}: {error}"
    return text if len(text) <= _REASON_CHARACTERS else text[: _REASON_CHARACTERS - 1] + "…"
