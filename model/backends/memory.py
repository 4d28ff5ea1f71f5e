"""Memory that runners need, and memory that is free.

The estimates of a GPU's tensors are held to the tensors themselves by a test; what fragmentation,
recordings and libraries take besides is for the caller to keep free.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

from model.decoding.network_interface import Capacity, Precision
from model.network.config import ModelConfig
from model.network.transformer import weight_shapes

_HYPOTHESIS_BYTES = 34
"""Of a token of each live hypothesis of a slot: an id and a log-probability, the same of a finished
one, and which terms it makes."""
_POSITION_BYTES = 80
"""Of a position of each slot: the forced prefix, and the tables of terms."""
_LOGITS_COPIES = 3
"""Float32 logits of all rows that a step holds at the same time."""
_SAMPLED_COPIES = 9
"""Logits of rows that sample, at most one a slot: sorted, masked, summed, with noise."""
_REORDERED_LOGITS = 4
"""Logits, and what takes as much as they, that a step holds while it reorders the caches."""
_NATIVE_LOGITS_COPIES = 3
_INT8_BYTES = 1.1
"""Of a weight, with the scales of its block."""
_ENCODED_TOKENS = 8192
"""Padded source tokens that are encoded at once, at most."""
_PROCESS = Path("/proc/self")


def full_bytes(config: ModelConfig, capacity: Capacity, max_beam: int, precision: Precision) -> int:
    """Bytes of all caches and searches when every slot and row is full."""
    positions = (
        capacity.max_rows * capacity.max_target_tokens
        + capacity.max_slots * capacity.max_source_tokens
    )
    keys_and_values = 2 * config.n_decoder_layers * config.d_model * positions
    searches = capacity.max_slots * capacity.max_target_tokens
    each = _HYPOTHESIS_BYTES * max_beam + _POSITION_BYTES
    return keys_and_values * _bytes_of(precision) + searches * each


def weight_bytes(config: ModelConfig, precision: Precision) -> int:
    """Bytes of the weights as PyTorch holds them."""
    return _num_weights(weight_shapes(config)) * _bytes_of(precision)


def packed_bytes(config: ModelConfig, precision: Precision) -> int:
    """Bytes of the weights of the native backend while it packs them: the packed matrices, the
    tables of embeddings, and the two weights in work."""
    shapes = weight_shapes(config)
    tables = {name: shape for name, shape in shapes.items() if "embedding" in name}
    num_packed = _num_weights(shapes) - _num_weights(tables)
    if "output.weight" not in shapes:
        num_packed += config.tgt_vocab_size * config.d_model
    largest = max(math.prod(shape) for shape in shapes.values())
    size = _INT8_BYTES if precision == "int8" else 4
    return int(num_packed * size) + 4 * (_num_weights(tables) + 2 * largest)


def step_bytes(config: ModelConfig, capacity: Capacity, precision: Precision) -> int:
    """Bytes that PyTorch needs for a moment, in a step of all rows or while it encodes."""
    logits = 4 * capacity.max_rows * config.tgt_vocab_size
    size = _bytes_of(precision)
    one_store = config.n_decoder_layers * config.d_model * size * (
        capacity.max_rows * capacity.max_target_tokens
    )  # fmt: skip
    a_token = 2 * config.n_decoder_layers * config.d_model + 4 * config.d_model + config.d_ff
    return max(
        _LOGITS_COPIES * logits
        + 4 * _SAMPLED_COPIES * config.tgt_vocab_size * min(capacity.max_slots, capacity.max_rows),
        one_store + _REORDERED_LOGITS * logits,
        _ENCODED_TOKENS * a_token * size,
    )


def native_step_bytes(config: ModelConfig, capacity: Capacity) -> int:
    """Bytes that the native backend needs for a moment in a step of all rows."""
    return _NATIVE_LOGITS_COPIES * 4 * capacity.max_rows * config.tgt_vocab_size


def free_bytes(device: str, gpu_share: float = 1.0) -> int:
    """Free bytes on the device, within the limits of containers; of a GPU at most `gpu_share` of
    all its bytes."""
    if device.startswith("cuda"):
        free, total = torch.cuda.mem_get_info(device)
        return min(free, int(gpu_share * total))
    return min([psutil.virtual_memory().available, *free_in_control_groups()])


def _num_weights(shapes: dict[str, tuple[int, ...]]) -> int:
    return sum(math.prod(shape) for shape in shapes.values())


def _bytes_of(precision: Precision) -> int:
    return 2 if precision in ("float16", "bfloat16") else 4


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


def free_in_control_groups(process: Path = _PROCESS) -> list[int]:
    """The free bytes of each limited group that contains the process. A group with unreadable files
    counts as unlimited.

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
    """The process's group and the topmost mounted group of each hierarchy that counts memory."""
    paths = dict(_group_paths(process))
    for kind, root, mount in _mounts(process):
        path = Path(paths.get(kind, "/"))
        inside = path.relative_to(root) if path.is_relative_to(root) else Path()
        group = mount / inside
        if ".." in inside.parts or not group.is_dir():
            group = mount  # the path is of another namespace; the mount is the container's group
        yield _VERSIONS[kind], group, mount


def _group_paths(process: Path) -> Iterator[tuple[str, str]]:
    """Kind and path from lines such as "0::/group" and "4:memory:/group"."""
    for line in _lines(process / "cgroup"):
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            yield "cgroup2", path
        elif "memory" in controllers.split(","):
            yield "cgroup", path


def _mounts(process: Path) -> Iterator[tuple[str, str, Path]]:
    """Kind, root and mount point of each mounted hierarchy that counts memory.

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
