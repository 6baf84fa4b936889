"""Threads come from affinity and from every control group above the process."""

from pathlib import Path

import pytest

from decision_adapter.cpus import available_cpus, quotas, whole_cpus


@pytest.mark.parametrize(
    ("affinity", "allowed", "expected"),
    [
        (8, [], 8),
        (8, [3.5], 3),  # a fourth thread would be stopped half of the time
        (2, [4.0], 2),
        (4, [0.5], 1),  # half a CPU still needs one thread
        (8, [6.0, 2.0], 2),
    ],
)
def test_the_least_allowed_counts_rounded_down(affinity: int, allowed: list[float], expected: int) -> None:
    assert whole_cpus(affinity, allowed) == expected


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_version_2_counts_every_group_up_to_the_root(tmp_path: Path) -> None:
    # given a quota on the group above the process's own, as an orchestrator sets it
    write(tmp_path, pod__cpu_DOT_max="250000 100000\n", pod__app__cpu_DOT_max="max 100000\n")
    assert quotas(tmp_path, "0::/pod/app\n") == [2.5]


def test_version_2_in_a_container_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    write(tmp_path, cpu_DOT_max="400000 100000\n")
    assert quotas(tmp_path, "0::/\n") == [4.0]
    assert quotas(tmp_path, "0::/../../host/path\n") == [4.0]


def test_version_1_is_read_where_its_controller_is_mounted(tmp_path: Path) -> None:
    folder = tmp_path / "cpu,cpuacct" / "docker" / "abc"
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text("150000\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    (folder.parent / "cpu.cfs_quota_us").write_text("-1\n")
    (folder.parent / "cpu.cfs_period_us").write_text("100000\n")
    membership = "12:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n2:cpuset:/docker/abc\n"
    assert quotas(tmp_path, membership) == [1.5]


def test_without_control_groups_nothing_is_limited(tmp_path: Path) -> None:
    assert quotas(tmp_path, "") == []
    assert available_cpus() >= 1
