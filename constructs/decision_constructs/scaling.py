"""How many instances an endpoint runs under which load: the settings `[chat.scaling]` and `[decision.scaling]`."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from decision_constructs.section import Problem, Raw, Section


class Scaling(Section):
    """Target tracking on the requests under way at an instance."""

    min_count: Annotated[int, Field(ge=1, le=100, description="1 to 100 instances")] = 1
    max_count: Annotated[int, Field(ge=1, le=100, description="1 to 100 instances")]
    target_concurrency: Annotated[
        float, Field(ge=0.1, le=1000, description="0.1 to 1000 requests under way at an instance")
    ]
    scale_out_cooldown_seconds: Annotated[
        int, Field(ge=0, le=3600, description="0 to 3600 seconds before more instances are added again")
    ] = 60
    scale_in_cooldown_seconds: Annotated[
        int, Field(ge=0, le=3600, description="0 to 3600 seconds before instances are removed again")
    ] = 300

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """There is something to scale between."""
        least, most = raw.get("min_count", 1), raw.get("max_count")
        if isinstance(least, int) and isinstance(most, int) and most <= least:
            yield ("max_count",), f"{most}: expected more than min_count ({least})"


def scaling_rules(raw: Raw) -> Iterator[Problem]:
    """What scaling asks of the rest of an endpoint. `raw` is the endpoint's table."""
    scaling = raw.get("scaling")
    if not isinstance(scaling, dict):
        return
    count, least, most = raw.get("instance_count", 1), scaling.get("min_count", 1), scaling.get("max_count")
    if isinstance(count, int) and isinstance(least, int) and isinstance(most, int) and not least <= count <= most:
        yield (
            ("instance_count",),
            f"{count}: the endpoint starts with it; expected {least} to {most}, as [scaling] says",
        )


def admission_rules(raw: Raw) -> Iterator[Problem]:
    """A container refuses what is over max_in_flight, so that the load never gets higher. `raw` is `[decision]`."""
    scaling, places = raw.get("scaling"), raw.get("max_in_flight", 1)
    target = scaling.get("target_concurrency") if isinstance(scaling, dict) else None
    if isinstance(target, int | float) and isinstance(places, int) and target >= places:
        yield (
            ("scaling", "target_concurrency"),
            f"{target}: never exceeded, since a container admits max_in_flight ({places}); expected less than that",
        )
