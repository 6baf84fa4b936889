"""How an endpoint moves to a new model, image or configuration: `[chat.updates]` and `[decision.updates]`."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from decision_constructs.section import Problem, Raw, Section

AlarmNames = Annotated[tuple[str, ...], Field(strict=False, description="a list of CloudWatch alarm names, in quotes")]


class Updates(Section):
    """Blue/green: the new instances start beside the old ones, take over their traffic, and an alarm takes it back."""

    strategy: Annotated[
        Literal["all-at-once", "canary", "linear"],
        Field(description="'all-at-once', 'canary' or 'linear': how the traffic moves to the new instances"),
    ] = "all-at-once"
    step_percent: Annotated[int, Field(ge=10, le=50, description="10 to 50 percent of the instances")] = 20
    bake_seconds: Annotated[
        int, Field(ge=0, le=3600, description="0 to 3600 seconds to watch the alarms after each step")
    ] = 180
    keep_old_seconds: Annotated[
        int, Field(ge=0, le=3600, description="0 to 3600 seconds until the old instances end")
    ] = 0
    rollback_error_percent: Annotated[
        int, Field(ge=1, le=100, description="1 to 100 percent of the invocations of a minute answered with a 5xx")
    ] = 20
    rollback_alarms: AlarmNames = ()

    MAX_SECONDS: ClassVar[int] = 28_800
    """What SageMaker allows a deployment at most."""
    START_SECONDS: ClassVar[int] = 3600
    """What of it is always left for starting the new instances."""
    _MAX_ALARMS: ClassVar[int] = 9  # SageMaker takes 10, and one is ours

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """Steps only where there are some, few alarms, and no longer than SageMaker allows."""
        strategy = raw.get("strategy", "all-at-once")
        if "step_percent" in raw and strategy == "all-at-once":
            yield ("step_percent",), "all-at-once has no steps; remove it or choose the strategy canary or linear"
        alarms = raw.get("rollback_alarms", [])
        if isinstance(alarms, list) and len(alarms) > cls._MAX_ALARMS:
            yield ("rollback_alarms",), f"{len(alarms)} alarms: expected up to {cls._MAX_ALARMS}"
        step, bake, keep = (
            raw.get(key, d) for key, d in (("step_percent", 20), ("bake_seconds", 180), ("keep_old_seconds", 0))
        )
        if isinstance(step, int) and isinstance(bake, int) and isinstance(keep, int) and step > 0:
            waits = bake * _steps(strategy, step) + keep
            limit = cls.MAX_SECONDS - cls.START_SECONDS
            if waits > limit:
                yield ("bake_seconds",), f"the waits of an update add up to {waits} s; expected up to {limit} s"

    @property
    def wait_seconds(self) -> int:
        """How long an update waits in all."""
        return self.bake_seconds * _steps(self.strategy, self.step_percent) + self.keep_old_seconds


def _steps(strategy: object, step_percent: int) -> int:
    match strategy:
        case "canary":
            return 2
        case "linear":
            return -(-100 // step_percent)
        case _:
            return 1


def update_rules(raw: Raw) -> Iterator[Problem]:
    """What an endpoint's updates ask of its number of instances. `raw` is the endpoint's table."""
    updates, scaling = raw.get("updates"), raw.get("scaling")
    strategy = updates.get("strategy") if isinstance(updates, dict) else None
    if strategy not in ("canary", "linear"):
        return
    where: tuple[str, ...] = ("instance_count",)
    count = raw.get("instance_count", 1)
    if isinstance(scaling, dict):
        where, count = ("scaling", "min_count"), scaling.get("min_count", 1)
    if isinstance(count, int) and count < 2:
        yield where, f"{count}: a {strategy} update moves part of the instances at a time; expected 2 or more"
