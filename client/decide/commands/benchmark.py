"""`decide benchmark`: how fast endpoints answer, side by side."""

import json
import os
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from decide import output
from decide.benchmark.figures import Measured
from decide.benchmark.prices import prices_of
from decide.benchmark.report import levels_table, summary_table
from decide.benchmark.runner import Plan, instance_of, measure
from decide.benchmark.threads import recommendation
from decide.errors import UsageError
from decide.files import write_text
from decide.options import JsonOption
from decide.progress import progress
from decide.target import Target, choose

EXAMPLES = (
    "decide benchmark --env local --callers 1,2 --words 20 --requests 5",
    "decide benchmark --env dev --hourly-price 1.63 --output run.json",
    "decide benchmark --endpoint cpu --endpoint gpu --hourly-price cpu=1.63 --hourly-price gpu=1.41",
)
_PANEL = "Which endpoints"
Names = Annotated[list[str] | None, typer.Option(metavar="NAME", rich_help_panel=_PANEL)]


def benchmark(
    *,
    env: Annotated[list[str] | None, typer.Option("--env", "-e", metavar="NAME", rich_help_panel=_PANEL)] = None,
    endpoint: Names = None,
    url: Annotated[list[str] | None, typer.Option(metavar="URL", rich_help_panel=_PANEL)] = None,
    api_key: Annotated[str | None, typer.Option(metavar="KEY", rich_help_panel=_PANEL)] = None,
    region: Annotated[str | None, typer.Option(metavar="REGION", rich_help_panel=_PANEL)] = None,
    profile: Annotated[str | None, typer.Option(metavar="NAME", rich_help_panel=_PANEL)] = None,
    callers: Annotated[str, typer.Option(help="Numbers of callers at a time.")] = "1,4",
    words: Annotated[str, typer.Option(help="Lengths of states.")] = "50,400",
    requests: Annotated[int, typer.Option(min=1, help="Of each level, in all.")] = 40,
    warm_up: Annotated[int, typer.Option(min=0, help="Requests before each level that do not count.")] = 2,
    same_state: Annotated[bool, typer.Option("--same-state", help="New questions about one state.")] = False,
    seed: Annotated[int, typer.Option(help="Another one asks other texts.")] = 1,
    hourly_price: Annotated[
        list[str] | None, typer.Option(metavar="[NAME=]PRICE", help="Of all instances of an endpoint.")
    ] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to ask a busy endpoint again.")] = 60.0,
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Where the run goes, as JSON.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure latency, decisions a second and refusals of one endpoint, or compare several.

    Each level is a number of callers and a length of state. Ctrl-C ends it, and what was measured is shown and written.
    """
    named: list[tuple[str, list[str] | None]] = [("environment", env), ("endpoint", endpoint), ("url", url)]
    pairs = [{kind: name} for kind, names in named for name in names or []] or [{}]
    targets = [_target(pair, api_key, region, profile) for pair in pairs]
    prices = prices_of(hourly_price or [], [str(target) for target in targets])
    plan = Plan(_numbers("--words", words), _numbers("--callers", callers), requests, warm_up, same_state, seed, wait)
    measured: list[Measured] = []
    try:
        _measure_all(targets, prices, plan, measured)
    finally:
        _report([one for one in measured if one.figures], plan, file, as_json)


def _target(named: dict[str, str], api_key: str | None, region: str | None, profile: str | None) -> Target:
    nothing: dict[str, str | None] = dict.fromkeys(("environment", "endpoint", "url", "api_key", "region", "profile"))
    beside = {"api_key": api_key} if "url" in named else {"region": region, "profile": profile}
    return choose(**{**nothing, **named, **beside}, variables=os.environ)


def _numbers(option: str, text: str) -> list[int]:
    """Numbers of 1 and more, as in ``1,4``.

    Raises:
        UsageError: they are not.
    """
    numbers = [int(part) if part.strip().isdecimal() else 0 for part in text.split(",")]
    if min(numbers) < 1:
        raise UsageError(f"{option} {text}: must be numbers above 0 with commas between them, as in {option} 1,4")
    return list(dict.fromkeys(numbers))


def _measure_all(targets: list[Target], prices: dict[str, float], plan: Plan, measured: list[Measured]) -> None:
    with progress() as bar:
        for target in targets:
            measured.append(Measured(str(target), instance_of(target), prices.get(str(target))))
            task = bar.add_task(str(target), total=len(plan.levels) * plan.requests)
            measure(target, measured[-1], plan, partial(bar.advance, task))


def _report(measured: list[Measured], plan: Plan, file: Path | None, as_json: bool) -> None:
    """Show and write what was measured; nothing when that is nothing."""
    if not measured:
        return
    told = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "plan": asdict(plan),
        "endpoints": [one.as_json() for one in measured],
        "threads": recommendation(measured),
    }
    if file is not None:
        write_text(file, json.dumps(told, indent=2) + "\n")
    if as_json:
        output.print_json(told)
        return
    output.results.print(levels_table(measured))
    for one in measured:
        output.results.print(output.plain(f"first request to {one.name}: {one.first_seconds * 1000:.0f} ms", "dim"))
    output.results.print()
    output.results.print(summary_table(measured))
    output.results.print(output.plain(recommendation(measured), "dim"), soft_wrap=True)
