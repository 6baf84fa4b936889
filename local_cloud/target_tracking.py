"""How many instances a target-tracking policy wants: pure arithmetic over samples, once a second.

AWS wants half a minute of high values to scale out and a quarter of an hour of low ones to scale in. Nobody waits that
long at a laptop: here three samples above the target scale out, ten below nine tenths of it scale in. Cool-downs are
what the policy says.
"""

import math
from collections.abc import Mapping
from typing import Any

CONCURRENCY_METRIC = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
SAMPLE_SECONDS = 1.0
_SAMPLES_TO_SCALE_OUT = 3
_SAMPLES_TO_SCALE_IN = 10
_LOW_SHARE = 0.9
_DEFAULT_COOLDOWN_SECONDS = 300


class TargetTracking:
    """One policy and what it has seen. `samples` are requests an instance, the newest last."""

    def __init__(self, policy: Mapping[str, Any]) -> None:
        self._target: float = policy["TargetValue"]
        self._scale_out_cooldown: float = policy.get("ScaleOutCooldown", _DEFAULT_COOLDOWN_SECONDS)
        self._scale_in_cooldown: float = policy.get("ScaleInCooldown", _DEFAULT_COOLDOWN_SECONDS)
        self._scales_in = not policy.get("DisableScaleIn", False)
        self._samples: list[float] = []
        self._scaled_at = -math.inf

    def wanted(self, at: float, outstanding: int, count: int) -> int:
        """How many instances there should be.

        Args:
            at: the time in seconds, on any clock that only moves forward.
            outstanding: requests under way on all instances.
            count: instances there are.
        """
        if count == 0:
            return count
        self._samples = [*self._samples, outstanding / count][-_SAMPLES_TO_SCALE_IN:]
        high = self._samples[-_SAMPLES_TO_SCALE_OUT:]
        if len(high) == _SAMPLES_TO_SCALE_OUT and min(high) > self._target:
            return self._scaled(at, count, sum(high) / len(high), self._scale_out_cooldown)
        low = self._samples
        if self._scales_in and len(low) == _SAMPLES_TO_SCALE_IN and max(low) < _LOW_SHARE * self._target:
            return self._scaled(at, count, max(low), self._scale_in_cooldown)
        return count

    def _scaled(self, at: float, count: int, load: float, cooldown_seconds: float) -> int:
        wanted = max(1, math.ceil(count * load / self._target))
        if wanted == count or at - self._scaled_at < cooldown_seconds:
            return count
        self._scaled_at = at
        self._samples = []  # they were of another number of instances
        return wanted
