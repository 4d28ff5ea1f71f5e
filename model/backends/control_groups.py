"""The memory and CPU that Linux control groups, and so containers, leave to a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROCESS = Path("/proc/self")


class _Version(NamedTuple):
    """File names of a version, and the counters of droppable memory in memory.stat."""

    limit: str
    usage: str
    droppable: tuple[str, ...]


_VERSIONS = {
    "cgroup2": _Version(
        "memory.max", "memory.current", ("inactive_file", "active_file", "slab_reclaimable")
    ),
    "cgroup": _Version(
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
}


def free_in_control_groups(process: Path = PROCESS) -> list[int]:
    """The free bytes of each limited group that contains the process. A group with unreadable files
    counts as unlimited.

    `process`: its directory under /proc.
    """
    free = []
    for kind, group in _groups(process, "memory"):
        left = _free(group, _VERSIONS[kind])
        free += [] if left is None else [left]
    return free


def cpu_quotas(process: Path = PROCESS) -> list[float]:
    """The CPUs that each limited group of the process may use."""
    quotas = []
    for kind, group in _groups(process, "cpu"):
        names = ["cpu.max"] if kind == "cgroup2" else ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        lines = (line for name in names for line in _lines(group / name))
        quota, _, period = " ".join(lines).partition(" ")
        if quota.isdecimal() and period.isdecimal():
            quotas.append(int(quota) / int(period))
    return quotas


def _groups(process: Path, controller: str) -> Iterator[tuple[str, Path]]:
    """The process's group and all groups around it, of each hierarchy that has a controller."""
    for kind, group, top in _own_groups(process, controller):
        yield kind, group
        while group != top:
            group = group.parent
            yield kind, group


def _own_groups(process: Path, controller: str) -> Iterator[tuple[str, Path, Path]]:
    """The process's group and the topmost mounted group of each hierarchy of a controller."""
    paths = dict(_group_paths(process, controller))
    for kind, root, mount in _mounts(process, controller):
        path = Path(paths.get(kind, "/"))
        inside = path.relative_to(root) if path.is_relative_to(root) else Path()
        group = mount / inside
        if ".." in inside.parts or not group.is_dir():
            group = mount  # the path is of another namespace; the mount is the container's group
        yield kind, group, mount


def _group_paths(process: Path, controller: str) -> Iterator[tuple[str, str]]:
    """Kind and path from lines such as "0::/group" and "4:memory:/group"."""
    for line in _lines(process / "cgroup"):
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            yield "cgroup2", path
        elif controller in controllers.split(","):
            yield "cgroup", path


def _mounts(process: Path, controller: str) -> Iterator[tuple[str, str, Path]]:
    """Kind, root and mount point of each mounted hierarchy that has a controller.

    From lines such as "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory".
    """
    for line in _lines(process / "mountinfo"):
        before, _, after = line.partition(" - ")
        places, kinds = before.split(" "), after.split(" ")
        if len(places) < 5 or len(kinds) < 3:
            continue
        kind, options = kinds[0], kinds[2].split(",")
        if kind == "cgroup2" or (kind == "cgroup" and controller in options):
            yield kind, _unescaped(places[3]), Path(_unescaped(places[4]))


def _unescaped(path: str) -> str:
    r"""Decode the kernel's octal escapes: \040 for a space, likewise tab, newline, backslash."""
    for character in " \t\n\\":
        path = path.replace(f"\\{ord(character):03o}", character)
    return path


def _free(group: Path, version: _Version) -> int | None:
    """Free bytes of a group, or None if its limit is absent or unreadable."""
    limit, usage = _number(group / version.limit), _number(group / version.usage)
    if limit is None or usage is None:
        return None
    counts = dict(line.partition(" ")[::2] for line in _lines(group / "memory.stat"))
    droppable = sum(int(counts[name]) for name in version.droppable if _is_number(counts, name))
    return max(0, limit - max(0, usage - droppable))


def _is_number(counts: dict[str, str], name: str) -> bool:
    return counts.get(name, "").isdecimal()


def _number(file: Path) -> int | None:
    """The number in a file, or None if it has none ("max")."""
    text = "".join(_lines(file)).strip()
    return int(text) if text.isdecimal() else None


def _lines(file: Path) -> list[str]:
    """The lines of a file; an empty list if it is unreadable."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
