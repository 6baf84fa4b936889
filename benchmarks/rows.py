"""The rows of the table: what is measured, and what is to be reached."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import server, workloads
from benchmarks.measure import OURS, SERVER, THEIRS, Comparison, Spread, compare
from benchmarks.sides import Remote, Side
from benchmarks.workloads import Scale, Step
from decision_adapter.settings import Settings


@dataclass(frozen=True)
class Target:
    """A line of the table before it is measured."""

    work: str
    value: float
    at_least: bool = True
    """Whether more is better; otherwise the value is the most that is allowed."""

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.value:g}×"


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    target: Target
    reached: Spread
    detail: str
    complete: bool = True
    """Whether everything that was asked was answered."""
    llama_server: float | None = None
    """What llama-server reached; None when it was not measured."""

    @property
    def ok(self) -> bool:
        """Whether the target was reached."""
        value = self.reached.median
        return self.complete and (value >= self.target.value if self.target.at_least else value <= self.target.value)


Workload = Callable[[Scale, int], Iterator[Step]]
"""Steps of a scale, drawn from a seed."""

COMPARED: dict[str, tuple[Target, Workload]] = {
    "new-short-state": (Target("new short state each time, about 130 tokens", 1.35), workloads.new_short_state),
    "new-long-state": (Target("new long state each time, about 1,750 tokens", 0.97), workloads.new_long_state),
    "new-question": (Target("the same long state, a new question each time", 12), workloads.new_question),
    "growing-state": (
        Target("a state growing by about 60 tokens a turn from 1,500", 8),
        workloads.growing_state,
    ),
    "many-questions": (Target("21 questions over one long state in one request", 2), workloads.many_questions),
}
"""The reference algorithm's time over ours."""

SERVED: dict[str, Target] = {
    "http": Target("HTTP p50 over the engine's own time, short decisions", 1.05, at_least=False),
    "clients": Target("16 clients for a minute: decisions a second over the serial rate, none lost", 0.95),
    "start": Target("process start to ready, over bare model load and context creation", 2, at_least=False),
}

NAMES = [*COMPARED, *SERVED]


def compared(name: str, scale: Scale, ours: Side, reference: Remote, llama_server: Side | None) -> Comparison:
    """Everyone's times for the row ``name``."""
    _, workload = COMPARED[name]
    return compare(workload(scale, list(COMPARED).index(name) + 1), ours, reference, llama_server)


def compared_row(name: str, comparison: Comparison) -> Row:
    """The table's line for what was measured."""
    target, _ = COMPARED[name]
    samples = comparison.samples
    decisions = sum(len(sample.decodes) for sample in samples)
    same = sum(sample.same_answers for sample in samples)
    tokens = [sample.prompt_tokens for sample in samples]
    ours, theirs = (f"{comparison.seconds(side) * 1000:.0f} ms" for side in (OURS, THEIRS))
    detail = (
        f"prompts of {min(tokens)} to {max(tokens)} tokens, median of {len(samples)} pairs: ours {ours}, reference "
        f"{theirs}; same likeliest token in {same} of {decisions}"
    )
    measured = SERVER in samples[0].seconds
    beside = comparison.ratio(SERVER).median if measured else None
    return Row(name, target, comparison.ratio(OURS), detail, llama_server=beside)


def served_row(name: str, settings: Settings, scale: Scale, logs: Path) -> Row:
    """The table's line for a row about the deployed adapter."""
    target = SERVED[name]
    if name == "http":
        spread, detail = server.http_overhead(settings, scale, logs)
        return Row(name, target, spread, detail)
    if name == "clients":
        ratio, detail, none_lost = server.many_clients(settings, scale, logs)
        return Row(name, target, Spread.of([ratio]), detail, complete=none_lost)
    spread, detail = server.start(settings, scale, logs)
    return Row(name, target, spread, detail)
