"""Choose how many sentences models translate at the same time, by the memory that is free.

Pure arithmetic: the caller measures memory and says what sizes need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from model.network.config import ModelConfig

_CPU_SLOTS = 64
_CPU_BEAM = 4
_LEAST_GPU_ROWS, _MOST_GPU_ROWS = 1024, 4096
_STEP_WORK = 2 * 10**11
"""Floating-point operations of a step on a GPU, which take one or two milliseconds on an H200
(docs/gpu.md): as long as the host needs for that many sentences."""
_USED_SHARE = {"cpu": 0.75, "cuda": 0.85}
"""Of the free memory, at most, where sizes are chosen. The rest is for texts and libraries; on a
GPU for recorded steps, work spaces and holes between tensors."""
STORE_SHARE = dict.fromkeys(_USED_SHARE, 0.25)
"""Of the memory limit, for each model of a store: four models are in memory at a time, or more
small ones."""
_CPU_PREFILL_TOKENS = 1024
_MOST_PREFILL_TOKENS = 8192
_PREFILL_WORK = 10**12
"""Floating-point operations of encoding between two steps on a GPU: a few milliseconds."""


class DoesNotFit(ValueError):
    """The sizes that were asked for need more memory than is free; the message says what fits."""


class Sizes(NamedTuple):
    """Slots and rows of all workers of a model together."""

    max_slots: int
    max_rows: int


@dataclass(frozen=True)
class Demand:
    """The memory that a model asks for. `wanted`: the sizes if there is enough memory. `bytes_of`:
    the memory of sizes on each device, with the weights; devices are named as by torch."""

    wanted: Sizes
    bytes_of: Callable[[Sizes], Mapping[str, int]]


def usual_sizes(
    asked: Sizes,
    devices: Sequence[str],
    beam_size: int,
    least_rows: int,
    gpu_rows: int = _LEAST_GPU_ROWS,
) -> Sizes:
    """The sizes that are `asked` for, and instead of 0 the usual ones for beams of `beam_size`.
    `gpu_rows`: of each GPU."""
    if devices[0] == "cpu":
        slots, width = _CPU_SLOTS, max(_CPU_BEAM, beam_size)
    else:
        slots, width = len(devices) * max(1, gpu_rows // beam_size), beam_size
    slots = asked.max_slots or slots
    return Sizes(slots, asked.max_rows or max(least_rows, slots * width))


def choose_sizes(
    demands: Sequence[Demand],
    asked: Sizes,
    least_rows: int,
    free: Mapping[str, int],
    used_share: Mapping[str, float] = _USED_SHARE,
) -> list[Sizes]:
    """The sizes of each model, which fit together into the `free` bytes of each device.
    `used_share`: of these bytes, by kind of device.

    Sizes that are 0 in `asked` are halved, first those of the model that needs most, until all
    take only a part of the memory; a model keeps `least_rows`. Raises DoesNotFit.
    """
    usable = {name: int(num * used_share[name.partition(":")[0]]) for name, num in free.items()}
    chosen = [demand.wanted for demand in demands]
    while device := _overfull(demands, chosen, usable):
        halved = [_halved(sizes, asked, least_rows) for sizes in chosen]
        shrinking = [i for i, sizes in enumerate(halved) if sizes != chosen[i]]
        if not shrinking:
            break
        needs = {i: demands[i].bytes_of(chosen[i]).get(device, 0) for i in shrinking}
        largest = max(needs, key=lambda i: needs[i])
        chosen[largest] = halved[largest]
    if device := _overfull(demands, chosen, free):
        raise DoesNotFit(_refusal(demands, chosen, least_rows, free, device))
    return chosen


def prefill_tokens(is_gpu: bool, config: ModelConfig) -> int:
    """Source tokens to encode between two steps: on a GPU a power of two by the encoder's work."""
    if not is_gpu:
        return _CPU_PREFILL_TOKENS
    a_token = config.n_encoder_layers * _layer_weights(config)
    tokens = _power_of_two(_PREFILL_WORK // (2 * a_token))
    return min(max(tokens, _CPU_PREFILL_TOKENS), _MOST_PREFILL_TOKENS)


def rows_of_a_gpu(config: ModelConfig) -> int:
    """The usual rows on each GPU: a power of two by the decoder's work."""
    output = config.d_model * config.tgt_vocab_size
    rows = _power_of_two(_STEP_WORK // (2 * (_decoder_weights(config) + output)))
    return min(max(rows, _LEAST_GPU_ROWS), _MOST_GPU_ROWS)


def usable_bytes(device: str, free: int) -> int:
    """The part of the free bytes of a device that models may take."""
    return int(free * _USED_SHARE[device.partition(":")[0]])


def work_per_token(config: ModelConfig) -> int:
    """The weights of all layers, each of which multiplies every token once. An attention to the
    memory has as many as one to the own tokens."""
    return config.n_encoder_layers * _layer_weights(config) + _decoder_weights(config)


def _decoder_weights(config: ModelConfig) -> int:
    return config.n_decoder_layers * (_layer_weights(config) + _attention_weights(config))


def _layer_weights(config: ModelConfig) -> int:
    return _attention_weights(config) + (2 + config.gated) * config.d_model * config.d_ff


def _attention_weights(config: ModelConfig) -> int:
    return 4 * config.d_model * config.attention_width


def _power_of_two(number: int) -> int:
    """The largest that is not larger."""
    return 1 << (max(number, 1).bit_length() - 1)


def _needed(demands: Sequence[Demand], chosen: Sequence[Sizes]) -> Counter[str]:
    needed: Counter[str] = Counter()
    for demand, sizes in zip(demands, chosen, strict=True):
        needed.update(demand.bytes_of(sizes))
    return needed


def _overfull(
    demands: Sequence[Demand], chosen: Sequence[Sizes], limits: Mapping[str, int]
) -> str | None:
    """The device that lacks most memory; None if all have enough."""
    missing = {name: num - limits[name] for name, num in _needed(demands, chosen).items()}
    worst = max(missing, key=lambda name: missing[name])
    return worst if missing[worst] > 0 else None


def _halved(sizes: Sizes, asked: Sizes, least_rows: int) -> Sizes:
    """Halve the sizes that the settings leave open."""
    slots = asked.max_slots or max(1, sizes.max_slots // 2)
    rows = asked.max_rows or max(least_rows, sizes.max_rows // 2)
    return Sizes(slots, min(rows, sizes.max_rows))


def shown_bytes(num_bytes: int) -> str:
    """The size for people, in the largest unit of which there is one."""
    number = float(num_bytes)
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def _refusal(
    demands: Sequence[Demand],
    chosen: Sequence[Sizes],
    least_rows: int,
    free: Mapping[str, int],
    device: str,
) -> str:
    told = (
        f"full slots would take {shown_bytes(_needed(demands, chosen)[device])} of memory with "
        f"the weights, and {shown_bytes(free[device])} are free on {device}; "
    )
    for smaller in _smaller(chosen, least_rows):
        if not _overfull(demands, smaller, free):
            slots, rows = map(max, zip(*smaller, strict=True))
            return told + (
                f"max_slots {slots} with max_rows {rows} fits, or lower max_target_tokens or "
                "max_source_tokens"
            )
    return told + (
        "one slot does not fit either: lower max_beam_size, max_target_tokens or "
        "max_source_tokens, or take a smaller model"
    )


def _smaller(chosen: Sequence[Sizes], least_rows: int) -> Iterator[list[Sizes]]:
    """All models halved once, twice, and so on, to one slot."""
    chosen = list(chosen)
    while True:
        halved = [_halved(sizes, Sizes(0, 0), least_rows) for sizes in chosen]
        if halved == chosen:
            return
        yield halved
        chosen = halved
