"""An endpoint and its life: Creating → InService ⇄ Updating → Deleting, or Failed.

Each deployment runs on a thread of its own. It starts the containers of the new configuration, waits until all are
healthy, swaps them in, and only then ends the old ones (blue/green). When one is not healthy, the new ones are ended
and what served before goes on serving; an endpoint that never served is Failed.
"""

import logging
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from local_cloud.container import Container
from local_cloud.errors import LocalCloudError, ValidationError
from local_cloud.resources import ENDPOINT, Record, now

_REASON_CHARACTERS = 1024
_log = logging.getLogger(__name__)
_BUSY = ("Creating", "Updating", "Deleting")


@dataclass(frozen=True)
class RunningVariant:
    """A production variant that serves. One process stands for all its instances."""

    name: str
    weight: float
    instance_count: int
    image: str
    container: Container


# Starts one variant of a configuration and returns when it is healthy.
StartVariant = Callable[[str, Mapping[str, Any]], RunningVariant]


@dataclass
class Endpoint:
    """One endpoint. `variants` is replaced as a whole, so a reader sees the old set or the new one."""

    name: str
    start_variant: StartVariant
    config_name: str = ""
    status: str = "Creating"
    failure_reason: str = ""
    variants: tuple[RunningVariant, ...] = ()
    created: float = field(default_factory=now)
    modified: float = field(default_factory=now)
    settled: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def deploy(self, config: Record) -> None:
        """Start to bring a configuration into service; `settled` is set when that has succeeded or failed.

        Raises:
            ValidationError: another deployment is under way, or the first one failed.
        """
        with self._lock:
            if self.config_name and self.status in _BUSY:
                raise ValidationError(f'Cannot update in-progress endpoint "{ENDPOINT.arn(self.name)}".')
            if self.status == "Failed":
                raise ValidationError(f'Cannot update failed endpoint "{ENDPOINT.arn(self.name)}"; delete it.')
            self.status = "Updating" if self.variants else "Creating"
            self.config_name = self.config_name or config["EndpointConfigName"]
            self.modified = now()
            self.settled.clear()
        threading.Thread(target=self._deploy, args=(config,), name=f"deploy-{self.name}", daemon=True).start()

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

    def pick(self, variant_name: str | None = None) -> RunningVariant | None:
        """The variant a request goes to: the one named, else one by weight; None when there is none."""
        candidates = [v for v in self.variants if variant_name in (None, v.name)]
        if not candidates:
            return None
        weights = [variant.weight for variant in candidates]
        return random.choices(candidates, weights if any(weights) else None)[0]

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
                    "DesiredInstanceCount": variant.instance_count,
                }
                for variant in self.variants
            ],
        }
        if self.failure_reason:
            record["FailureReason"] = self.failure_reason
        return record

    def _deploy(self, config: Record) -> None:
        variants: Sequence[Mapping[str, Any]] = config["ProductionVariants"]
        with ThreadPoolExecutor(len(variants)) as pool:
            starting = [pool.submit(self.start_variant, self.name, variant) for variant in variants]
        failures = [error for future in starting if (error := future.exception()) is not None]
        started = tuple(future.result() for future in starting if future.exception() is None)
        with self._lock:
            self.modified = now()
            if failures:
                ending = started
                self.failure_reason = _reason(failures[0])
                self.status = "InService" if self.variants else "Failed"
            else:
                ending, self.variants = self.variants, started
                self.config_name = config["EndpointConfigName"]
                self.failure_reason = ""
                self.status = "InService"
        _stop(ending)
        self.settled.set()


def _stop(variants: Sequence[RunningVariant]) -> None:
    if variants:
        with ThreadPoolExecutor(len(variants)) as pool:
            list(pool.map(lambda variant: variant.container.stop(), variants))


def _reason(error: BaseException) -> str:
    if not isinstance(error, LocalCloudError):
        _log.error("a variant was not started", exc_info=error)
    text = str(error) if isinstance(error, LocalCloudError) else f"{type(error).__name__}: {error}"
    return text if len(text) <= _REASON_CHARACTERS else text[: _REASON_CHARACTERS - 1] + "…"
