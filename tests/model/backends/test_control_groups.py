"""What containers leave of memory and CPUs, read from trees of files such as Linux shows; and how
many cores a process computes with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from model.backends.control_groups import cpu_quotas, free_in_control_groups
from model.backends.cores import num_cores


class Machine:
    """A process's directory under /proc and the hierarchies that are mounted."""

    def __init__(self, directory: Path) -> None:
        self.process = directory / "proc"
        self.process.mkdir()
        self._mounts, self._groups = [f"23 1 8:1 / {directory} rw - ext4 /dev/sda rw"], [""]
        self._directory = directory

    def mount(self, kind: str, path: str, root: str = "/", options: str = "rw,memory") -> Path:
        """A hierarchy in which the process is at `path`, and which is mounted from `root` on."""
        place = self._directory / f"mounted at {kind}"
        place.mkdir()
        escaped = str(place).replace(" ", "\\040")
        self._mounts.append(f"24 23 0:1 {root} {escaped} rw shared:1 - {kind} cgroup {options}")
        self._groups.append(f"0::{path}" if kind == "cgroup2" else f"4:cpu,memory:{path}")
        return place

    @property
    def free(self) -> list[int]:
        self._write()
        return free_in_control_groups(self.process)

    @property
    def quotas(self) -> list[float]:
        self._write()
        return cpu_quotas(self.process)

    def _write(self) -> None:
        (self.process / "mountinfo").write_text("\n".join(self._mounts))
        (self.process / "cgroup").write_text("\n".join(self._groups))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def bound(
    group: Path,
    limit: int | str,
    used: int,
    names: tuple[str, str] = ("memory.max", "memory.current"),
    **counts: int,
) -> None:
    """Give a group a limit and what its processes use, in files of version 2's names."""
    group.mkdir(parents=True, exist_ok=True)
    stat = "".join(f"{name} {count}\n" for name, count in counts.items())
    (group / names[0]).write_text(f"{limit}\n")
    (group / names[1]).write_text(f"{used}\n")
    (group / "memory.stat").write_text(stat)


def test_files_that_were_read_do_not_count_as_used(machine: Machine) -> None:
    """Of 3000 in use, 2500 can be dropped; memory shared with others and anonymous one cannot."""
    counts = {"anon": 400, "file": 2300, "shmem": 100, "unevictable": 50}
    droppable = {"inactive_file": 1500, "active_file": 700, "slab_reclaimable": 300}
    bound(machine.mount("cgroup2", "/"), 5000, 3000, **counts, **droppable)
    assert machine.free == [4500]


def test_version_1_counts_the_groups_inside_too(machine: Machine) -> None:
    counts = {"inactive_file": 10, "active_file": 10, "total_cache": 2000}
    group = machine.mount("cgroup", "/")
    counts |= {"total_inactive_file": 1200, "total_active_file": 300}
    bound(group, 5000, 3000, ("memory.limit_in_bytes", "memory.usage_in_bytes"), **counts)
    assert machine.free == [3500]


def test_every_group_around_the_process_bounds_it(machine: Machine) -> None:
    top = machine.mount("cgroup2", "/pod/container")
    bound(top / "pod" / "container", "max", 3000)
    bound(top / "pod", 9000, 8000, inactive_file=500)
    bound(top / "another", 10, 10)
    assert machine.free == [1500]
    bound(top / "pod" / "container", 4000, 3000)
    assert machine.free == [1000, 1500]


@pytest.mark.parametrize("path", ["/docker/1", "/../../docker/1", "/../other", "/"])
def test_a_container_that_sees_only_its_own_group_is_bounded_by_it(
    machine: Machine, path: str
) -> None:
    """Its path may be that of the host, or of another namespace."""
    bound(machine.mount("cgroup2", path), 4000, 1000)
    assert machine.free == [3000]


@pytest.mark.parametrize("name", ["memory.max", "memory.current"])
@pytest.mark.parametrize("content", [None, "", "nonsense", "-1", "1.5", "max"])
def test_a_group_whose_files_say_nothing_bounds_nothing(
    machine: Machine, name: str, content: str | None
) -> None:
    group = machine.mount("cgroup2", "/")
    bound(group, 5000, 3000)
    (group / name).unlink()
    if content is not None:
        (group / name).write_text(content)
    assert machine.free == []


def test_a_machine_without_control_groups_has_no_bounds(tmp_path: Path, machine: Machine) -> None:
    assert free_in_control_groups(tmp_path / "nowhere") == []
    assert machine.free == []
    (machine.process / "mountinfo").write_text("- \n24 23 - cgroup2\n\n24 23 0:1 / /x rw - cgroup2")
    (machine.process / "cgroup").write_text("0\n:\n")
    assert free_in_control_groups(machine.process) == []


def test_groups_bound_the_share_of_the_cpus(machine: Machine) -> None:
    top = machine.mount("cgroup2", "/pod")
    assert machine.quotas == []
    (top / "pod").mkdir()
    (top / "pod" / "cpu.max").write_text("max 100000\n")
    (top / "cpu.max").write_text("150000 100000\n")
    assert machine.quotas == [1.5]


def test_version_1_bounds_the_cpus_in_a_hierarchy_of_its_own(machine: Machine) -> None:
    bound(machine.mount("cgroup2", "/"), "max", 0)
    top = machine.mount("cgroup", "/pod", options="rw,cpu,cpuacct")
    (top / "pod").mkdir()
    for group, quota in (top, -1), (top / "pod", 150000):
        (group / "cpu.cfs_quota_us").write_text(f"{quota}\n")
        (group / "cpu.cfs_period_us").write_text("100000\n")
    assert machine.quotas == [1.5]
    assert machine.free == []


def test_what_this_machine_shows_can_be_read() -> None:
    assert all(free > 0 for free in free_in_control_groups())


def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert num_cores() == 5


@pytest.mark.parametrize("value", ["", "0", "many"])
def test_else_there_are_as_many_as_the_process_may_run_on(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert 1 <= num_cores() <= len(os.sched_getaffinity(0))
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert num_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
