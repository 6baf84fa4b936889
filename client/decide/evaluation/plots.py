"""Plots as SVG that is put into a page: their colours and their font are the page's own, so they follow its theme."""

import io
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter

from decide.evaluation.measures import BINS, Bin, CurvePoint
from decide.evaluation.wording import duration

INK, MUTED, GRID, FIRST, SECOND = "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f"
"""Stand for colours of the page."""
_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", FIRST: "first", SECOND: "second"}

COLOURS = (FIRST, SECOND)
INCHES = (5.4, 3.7)
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def reliability(runs: Sequence[tuple[str, Sequence[Bin]]]) -> str:
    """How often answers are right, beside how sure they are; below, how many are so sure."""

    def draw(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        above.plot([0, 1], [0, 1], linestyle=(0, (4, 4)), color=MUTED, linewidth=1)
        width = 1 / BINS / (len(runs) + 0.25)
        for place, ((name, bins), colour) in enumerate(zip(runs, COLOURS, strict=False)):
            x, y = [one.mean_confidence for one in bins], [one.accuracy.value for one in bins]
            ends = [one.accuracy.interval for one in bins]
            above.vlines(x, [low for low, _ in ends], [high for _, high in ends], color=colour, alpha=0.35, linewidth=2)
            above.plot(x, y, marker="o", markersize=5, color=colour, linewidth=1.6, label=name)
            shift = (place - (len(runs) - 1) / 2) * width
            middle = [(one.low + one.high) / 2 + shift for one in bins]
            below.bar(middle, [one.accuracy.of for one in bins], width=width * 0.9, color=colour, alpha=0.55)
        _shares(above, x=False)
        above.set(ylim=(0, 1.02), xlim=(0, 1), ylabel="right")
        below.set_xlabel("probability of the choice")
        below.set_ylabel("rows")
        below.xaxis.set_major_formatter(PercentFormatter(1))
        below.grid(visible=False, axis="x")
        _legend(above, runs, "upper left")

    return _svg("reliability", draw)


def risk_coverage(runs: Sequence[tuple[str, Sequence[CurvePoint]]]) -> str:
    """How many of the answers that are acted on are wrong, when the surest part of all decisions is acted on."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for (name, curve), colour in zip(runs, COLOURS, strict=False):
            x = [point.accepted.value for point in curve]
            low, high = np.array([point.correct.interval for point in curve]).reshape(-1, 2).T
            axes.fill_between(x, 1 - high, 1 - low, color=colour, alpha=0.13, linewidth=0)
            axes.plot(x, [1 - point.correct.value for point in curve], color=colour, linewidth=1.8, label=name)
        _shares(axes, x=True)
        # the surest few rows say little, and would leave no room for what the others say
        top = max(1 - curve[-1].correct.interval[0] for _, curve in runs)
        axes.set(
            xlim=(0, 1), ylim=(0, min(1.02, 1.5 * top)), xlabel="acted on, the surest first", ylabel="wrong among them"
        )
        _legend(axes, runs, "upper right")

    return _svg("risk-coverage", draw)


def latency(runs: Sequence[tuple[str, Sequence[float]]]) -> str:
    """The share of requests that had their answer within a time; p50 and p95 are marked."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for (name, seconds), colour in zip(runs, COLOURS, strict=False):
            axes.ecdf(seconds, color=colour, linewidth=1.8, label=name)
            for percent in (50, 95):
                at = float(np.percentile(seconds, percent))
                axes.plot([at], [percent / 100], marker="o", markersize=5, color=colour)
                axes.annotate(
                    f"p{percent} {duration(at)}",
                    (at, percent / 100),
                    xytext=(7, -11),
                    textcoords="offset points",
                    color=colour,
                )
        axes.set_xscale("log")
        everything = [value for _, seconds in runs for value in seconds]
        axes.xaxis.set_major_locator(FixedLocator(_decades(min(everything), max(everything))))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
        _shares(axes, x=False)
        axes.set(ylim=(0, 1.02), xlabel="time until the answer", ylabel="answered")
        _legend(axes, runs, "upper left")

    return _svg("latency", draw)


def _decades(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten around ``low`` and ``high``; few enough to be read."""
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    return [float(step * 10**power) for power in powers for step in steps]


def _shares(axes: Axes, *, x: bool) -> None:
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    if x:
        axes.xaxis.set_major_formatter(PercentFormatter(1))


def _legend(axes: Axes, runs: Sequence[tuple[str, object]], place: Literal["upper left", "upper right"]) -> None:
    if len(runs) > 1:
        axes.legend(loc=place)


def _svg(name: str, draw: Callable[[Figure], None]) -> str:
    """What ``draw`` draws; the same bytes for the same figure."""
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=INCHES, layout="constrained")
        draw(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg \1 role="img" aria-label="{name}">', svg, count=1)
    svg = re.sub(r"font-family: [^;\"]+", "font-family: var(--font)", svg)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]+", r"font: \1px var(--font)", svg)
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", svg)  # ids are unique in the whole page
    svg = svg.replace("xlink:href", "href")
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    return svg
