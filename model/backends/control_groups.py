"""How much memory Linux' control groups, versions 1 and 2, leave to this process.

A container is such a group, and so are those around it: the bounds of all hold. What a group uses
counts the files that it has read, which the kernel drops when memory is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_PROCESS = Path("/proc/self")


class _Version(NamedTuple):
    """How a version calls its files, and the counts of what can be dropped in memory.stat."""

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


def free_in_control_groups(process: Path = _PROCESS) -> list[int]:
    """What each bounded group that the process is in leaves, in bytes. A group whose files cannot
    be read bounds nothing.

    `process`: its directory under /proc.
    """
    free = []
    for version, group, top in _memory_groups(process):
        while True:
            left = _free(group, version)
            free += [] if left is None else [left]
            if group == top:
                break
            group = group.parent
    return free


def _memory_groups(process: Path) -> Iterator[tuple[_Version, Path, Path]]:
    """The group of the process in each hierarchy that counts memory, and the topmost one that is
    mounted."""
    paths = dict(_group_paths(process))
    for kind, root, mount in _mounts(process):
        path = Path(paths.get(kind, "/"))
        inside = path.relative_to(root) if path.is_relative_to(root) else Path()
        group = mount / inside
        if ".." in inside.parts or not group.is_dir():
            group = mount  # of another namespace: what is mounted is the container's own
        yield _VERSIONS[kind], group, mount


def _group_paths(process: Path) -> Iterator[tuple[str, str]]:
    """From lines such as "0::/group" and "4:memory:/group"."""
    for line in _lines(process / "cgroup"):
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            yield "cgroup2", path
        elif "memory" in controllers.split(","):
            yield "cgroup", path


def _mounts(process: Path) -> Iterator[tuple[str, str, Path]]:
    """Kind, root and place of each mounted hierarchy that counts memory.

    From lines such as "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory".
    """
    for line in _lines(process / "mountinfo"):
        before, _, after = line.partition(" - ")
        places, kinds = before.split(" "), after.split(" ")
        if len(places) < 5 or len(kinds) < 3:
            continue
        kind, options = kinds[0], kinds[2].split(",")
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options):
            yield kind, _unescaped(places[3]), Path(_unescaped(places[4]))


def _unescaped(path: str) -> str:
    r"""The kernel writes a space as \040, and likewise what else would be ambiguous."""
    for character in " \t\n\\":
        path = path.replace(f"\\{ord(character):03o}", character)
    return path


def _free(group: Path, version: _Version) -> int | None:
    """None if the group has no bound, or none that can be read."""
    limit, usage = _number(group / version.limit), _number(group / version.usage)
    if limit is None or usage is None:
        return None
    counts = dict(line.partition(" ")[::2] for line in _lines(group / "memory.stat"))
    droppable = sum(int(counts[name]) for name in version.droppable if _is_number(counts, name))
    return max(0, limit - max(0, usage - droppable))


def _is_number(counts: dict[str, str], name: str) -> bool:
    return counts.get(name, "").isdecimal()


def _number(file: Path) -> int | None:
    """None for "max" too."""
    text = "".join(_lines(file)).strip()
    return int(text) if text.isdecimal() else None


def _lines(file: Path) -> list[str]:
    """None of a file that cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
