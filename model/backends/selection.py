"""Select precision and backend, and build what a runner runs on. PyTorch is imported only for the
backends that need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from model.backends.devices import has_pytorch
from model.backends.native import (
    NOT_COMPILED,
    NativeDecoder,
    PackedModel,
    has_fast_int8,
    is_available,
)
from model.checkpoint import StoredNetwork
from model.decoding.decoder import Capacity, Decoder, Precision
from model.decoding.search_rules import SearchSizes, SearchTokens
from model.decoding.utf8 import Utf8Tables
from model.network.config import AttentionHead

if TYPE_CHECKING:
    from model.backends.shared_files import SharedFiles
    from model.network.transformer import Transformer

Backend = Literal["native", "eager", "graphs"]
"""Our C++ on the CPU; PyTorch; PyTorch with steps that are recorded as CUDA graphs."""


def default_precision(
    device: str, instruction_set: str | None = None, backend: str = "auto"
) -> Precision:
    """The fastest precision of the device and the backend with almost no loss of quality."""
    if device.startswith("cuda"):
        return "float16"
    is_native = backend in ("auto", "native")
    return "int8" if is_native and has_fast_int8(instruction_set) else "float32"


def resolve_precision(
    name: str, device: str, instruction_set: str | None = None, backend: str = "auto"
) -> Precision:
    """ "auto" becomes the default of the device and the backend, on a CPU with this instruction set
    (`choose_instruction_set`). Raises ValueError if the device lacks the precision."""
    if name == "auto":
        return default_precision(device, instruction_set, backend)
    for precision in get_args(Precision):
        if precision == name:
            _check(name, device)
            checked: Precision = precision
            return checked
    allowed = ", ".join(get_args(Precision))
    raise ValueError(f"precision must be one of auto, {allowed}, got {name!r}")


def resolve_backend(name: str, device: str, precision: Precision) -> Backend:
    """ "auto" becomes graphs on a GPU; on the CPU native if it is compiled and supports the
    precision, else eager. Raises ValueError if the backend is unknown or unavailable."""
    is_cpu = device == "cpu"
    has_native = is_cpu and is_available() and precision in ("float32", "int8")
    if name == "auto":
        name = "native" if has_native else "eager" if is_cpu else "graphs"
        if is_cpu and not (is_available() or has_pytorch()):
            raise ValueError(f"{NOT_COMPILED}, or install dragoman[torch]")
    if name == "native" and not has_native:
        raise ValueError(
            "backend native needs a CPU, precision float32 or int8, and model/backends/native "
            f"compiled; here are {device} and {precision}"
        )
    if name == "graphs" and is_cpu:
        raise ValueError("backend graphs needs a GPU; on the CPU use native or eager")
    if name == "eager" and precision == "int8":
        raise ValueError("backend eager cannot compute in int8; use another precision or native")
    for backend in get_args(Backend):
        if backend == name:
            known: Backend = backend
            return known
    allowed = ", ".join(get_args(Backend))
    raise ValueError(f"backend must be one of auto, {allowed}, got {name!r}")


def _check(precision: str, device: str) -> None:
    if precision == "int8" and device != "cpu":
        raise ValueError(f"precision int8 is for the CPU; on {device} use float16 or bfloat16")
    if precision == "bfloat16" and device != "cpu":
        _require_bfloat16(device)
    if precision == "float16" and device == "cpu":
        raise ValueError("precision float16 needs a GPU; on the CPU use int8 or float32")
    if precision == "int8" and not is_available():
        raise ValueError("precision int8 needs model/backends/native, which was not compiled here")


def _require_bfloat16(device: str) -> None:
    from model.backends.pytorch.devices import has_bfloat16

    if not has_bfloat16(device):
        raise ValueError(f"precision bfloat16 needs a newer GPU than {device}; use float16")


def prepare(
    model: Transformer | StoredNetwork | PackedModel,
    control_ids: Sequence[int],
    precision: Precision,
    backend: Backend | None,
    instruction_set: str | None = None,
    shared: SharedFiles | None = None,
) -> Transformer | PackedModel:
    """The form of a model that several runners of a device share; arguments as for `make_decoder`,
    and the instruction set and `shared` of the native backend as of `PackedModel`.

    Raises MemoryError if it does not fit."""
    if isinstance(model, PackedModel):
        return model
    if (backend or resolve_backend("auto", _kind(model), precision)) == "native":
        return PackedModel(model, control_ids, precision == "int8", instruction_set, shared)
    from model.backends.pytorch.decoder import load

    return load(model, precision)


def make_decoder(
    model: Transformer | StoredNetwork | PackedModel,
    control_ids: Sequence[int],
    capacity: Capacity,
    max_beam: int,
    precision: Precision,
    backend: Backend | None,
    byte_ids: Mapping[int, int],
    copied_ids: Mapping[int, int | None],
    heads: Sequence[AttentionHead],
) -> Decoder:
    """The decoder of a backend (None: the best one). `byte_ids`, `copied_ids`, `heads`: as for
    `Runner`. Raises MemoryError if it does not fit."""
    config = model.config
    sizes = SearchSizes(capacity.max_slots, max_beam, capacity.max_target_tokens)
    tokens = SearchTokens(config.eos_id, control_ids[0], copied_ids)
    shared = prepare(model, control_ids, precision, backend)
    generated = {i: byte for i, byte in byte_ids.items() if i not in control_ids}
    is_free = not (generated or copied_ids)
    utf8 = None if is_free else Utf8Tables.of(generated, config.tgt_vocab_size, list(copied_ids))
    if isinstance(shared, PackedModel):
        return NativeDecoder(shared, capacity, sizes, tokens, utf8, heads)
    from model.backends.pytorch.decoder import make_tensor_decoder

    backend = backend or resolve_backend("auto", _kind(shared), precision)
    own = (capacity, sizes, tokens, utf8, heads)
    return make_tensor_decoder(shared, backend, control_ids, *own)


def _kind(model: Transformer | StoredNetwork) -> str:
    """The kind of the model's device: "cpu" or "cuda"."""
    return str(model.device).partition(":")[0]
