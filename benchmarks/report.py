"""A run on paper: JSON for programs, Markdown for people. No host name and no path of this machine is in either."""

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from benchmarks.rows import Row
from benchmarks.scaling import Limit, Point

CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine:
    """Where a run took place."""

    cpu: str
    cores: int
    """CPUs that the run could use."""
    memory_gib: int
    system: str
    load_before: float
    """Load average of the minute before: what else the machine was doing. A quiet one is below 0.3."""

    @classmethod
    def here(cls) -> "Machine":
        """This machine."""
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
        cores = len(os.sched_getaffinity(0))
        return cls(cpu_model(CPUINFO.read_text()), cores, round(memory / 2**30), system, round(os.getloadavg()[0], 2))

    @property
    def slug(self) -> str:
        """The machine in a file's name."""
        return re.sub(r"[^a-z0-9]+", "-", f"{self.cpu} {self.cores} cores".lower()).strip("-")


@dataclass
class Report:
    """What a run found."""

    day: date
    machine: Machine
    identity: Mapping[str, object]
    """The model part of an answer: GGUF, llama.cpp build and binding, backends, threads."""
    flags: str
    """Instruction sets and options of the llama.cpp that was measured."""
    llama_server: bool
    """Whether it was on PATH."""
    quick: bool = False
    """Whether it was only shown that everything runs."""
    rows: list[Row] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    curves: list[tuple[str, Sequence[Point]]] = field(default_factory=list)

    @property
    def missed(self) -> list[str]:
        """Names of the rows that did not reach their target."""
        return [row.name for row in self.rows if not row.ok]

    def verdict(self) -> str:
        """One sentence about the table."""
        if self.quick:
            return "A quick run: it shows that everything runs, and its numbers mean nothing."
        if not self.rows:
            return "No row was measured."
        if not self.missed:
            return f"All {len(self.rows)} rows reached."
        return f"{len(self.missed)} of {len(self.rows)} rows MISSED: {', '.join(self.missed)}."

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write ``<date>-<machine>.json`` and ``.md``, with a number behind when they exist; their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        stem = first = f"{self.day.isoformat()}-{self.machine.slug}"
        run = 1
        while (folder / f"{stem}.json").exists():
            run += 1
            stem = f"{first}-{run}"
        files = folder / f"{stem}.json", folder / f"{stem}.md"
        files[0].write_text(json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        files[1].write_text(self.as_markdown(), encoding="utf-8")
        return files

    def as_json(self) -> dict[str, object]:
        """Everything, with the verdict of each row."""
        return {
            "date": self.day.isoformat(),
            "machine": asdict(self.machine),
            "model": self.identity,
            "flags": self.flags,
            "quick": self.quick,
            "llama_server_measured": self.llama_server,
            "rows": [asdict(row) | {"ok": row.ok} for row in self.rows],
            "limits": [asdict(limit) for limit in self.limits],
            "curves": {name: [asdict(point) for point in points] for name, points in self.curves},
        }

    def as_markdown(self) -> str:
        """The tables, and what they were measured on."""
        parts = [f"# Benchmark of {self.day.isoformat()}", self.verdict(), self._conditions()]
        if self.rows:
            parts += ["## Rows", table(ROW_COLUMNS, [row_cells(row) for row in self.rows])]
        if self.limits:
            parts += [
                "## The limit: a bare `llama_decode` of the same new tokens",
                table(LIMIT_COLUMNS, [limit_cells(limit) for limit in self.limits]),
            ]
        for name, points in self.curves:
            parts += [f"## How time grows with the {name}", table(CURVE_COLUMNS, curve_cells(points))]
        return "\n\n".join(parts) + "\n"

    def _conditions(self) -> str:
        machine, identity = self.machine, self.identity
        lines = [
            f"{machine.cpu}, {machine.cores} cores, {machine.memory_gib} GiB, {machine.system}; load average before "
            f"the run {machine.load_before}",
            *(f"{key}: {text}" for key, value in identity.items() if (text := _inline(value))),
            f"llama.cpp's options: {self.flags}",
            "llama-server: measured" if self.llama_server else "llama-server: not on PATH, so not measured",
        ]
        return "\n".join(f"- {line}" for line in lines)


ROW_COLUMNS = ("row", "work", "to reach", "reached", "quartiles", "", "llama-server", "how")
LIMIT_COLUMNS = ("row", "new tokens", "ours, tokens/s", "bare, tokens/s", "ours of bare", "flash attention of bare")
CURVE_COLUMNS = ("size", "tokens", "seconds", "ms a token")


def row_cells(row: Row) -> list[str]:
    """A line of the table as text."""
    reached, beside = row.reached, row.llama_server
    return [
        row.name,
        row.target.work,
        str(row.target),
        f"{reached.median:.2f}×",
        f"{reached.low:.2f} to {reached.high:.2f}",
        "ok" if row.ok else "MISSED",
        "" if beside is None else f"{beside:.2f}×",
        row.detail,
    ]


def limit_cells(limit: Limit) -> list[str]:
    """A limit as text."""
    return [
        limit.row,
        str(limit.new_tokens),
        f"{limit.ours:.0f}",
        f"{limit.raw:.0f}",
        f"{limit.ours / limit.raw:.0%}",
        "on" if limit.flash_attention else "off",
    ]


def curve_cells(points: Sequence[Point]) -> list[list[str]]:
    """The points of a curve as text."""
    return [
        [str(point.size), str(point.tokens), f"{point.seconds:.3f}", f"{point.seconds / point.tokens * 1000:.2f}"]
        for point in points
    ]


def table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rule = ["---"] * len(columns)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, rule, *lines))


def cpu_model(cpuinfo: str) -> str:
    """The CPU's name in the text of /proc/cpuinfo; the architecture where, as on ARM, that has none."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def _inline(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_inline(item)}" for key, item in value.items() if item is not None)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
