"""How many CPUs this process may use."""

import os
from pathlib import Path, PurePosixPath

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def available_cpus() -> int:
    """Whole CPUs this process may use, at least 1: its affinity, or the least quota of its control groups."""
    try:
        membership = MEMBERSHIP.read_text()
    except OSError:  # no control groups: affinity is all there is to know
        membership = ""
    return whole_cpus(len(os.sched_getaffinity(0)), quotas(CGROUPS, membership))


def whole_cpus(affinity: int, allowed: list[float]) -> int:
    """Whole CPUs out of ``affinity`` when every quota in ``allowed``, in CPUs, holds.

    More threads than a quota allows are stopped in the middle of every decode and made to wait for the next period, so
    a quota is rounded down.
    """
    return max(1, int(min([affinity, *allowed])))


def quotas(root: Path, membership: str) -> list[float]:
    """CPUs allowed by each control group of the process that has a limit, from its own up to the root.

    Args:
        root: where control groups are mounted.
        membership: the text of ``/proc/self/cgroup``: ``id:controllers:path`` lines, without controllers in version 2.
    """
    found = []
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            found += [_quota_v2(folder) for folder in _folders(root, path)]
        elif "cpu" in controllers.split(","):
            found += [_quota_v1(folder) for folder in _folders(root / controllers, path)]
    return [quota for quota in found if quota is not None]


def _folders(mount: Path, path: str) -> list[Path]:
    """The group ``path`` and those above it. In a container the path can be the host's; then only the root exists."""
    own = PurePosixPath(path.lstrip("/"))
    return [mount / group for group in (own, *own.parents)]


def _quota_v2(folder: Path) -> float | None:
    """CPUs of ``cpu.max``: ``"<quota> <period>"``, or ``"max <period>"`` for no limit."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):  # the root of the hierarchy has no such file
        return None
    return None if quota == "max" else int(quota) / int(period)


def _quota_v1(folder: Path) -> float | None:
    """CPUs of ``cpu.cfs_quota_us`` and ``cpu.cfs_period_us``; a quota of -1 is no limit."""
    try:
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        period = int((folder / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None
    return None if quota < 0 else quota / period
