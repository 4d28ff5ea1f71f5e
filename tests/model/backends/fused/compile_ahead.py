"""Compile every kernel, as a step launches it, for GPUs that are not here: needs no GPU.

python -m tests.model.backends.fused.compile_ahead
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from model.backends.fused.network import FusedNetwork
from model.backends.fused.search import FusedSearch
from model.decoding.network_interface import Capacity, StepShape
from model.decoding.search_sizes import SearchSizes, SearchTokens
from model.decoding.slot_options import Features
from model.decoding.step import Step
from model.decoding.utf8 import Utf8Tables
from tests.model.backends.fused.launches import Launch, noted_launches
from tests.model.backends.fused.test_network import table_of
from tests.model.network.reference import CONTROL_IDS, EOS, tiny_model

CAPABILITIES = (80, 90)
_TYPES = {
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float32: "*fp32",
    torch.int64: "*i64",
    torch.int32: "*i32",
    torch.bool: "*i1",
    int: "i32",
    float: "fp32",
}
VARIANTS: list[tuple[torch.dtype, int, dict[str, Any]]] = [
    (torch.float16, 4, {"norm": "pre", "d_model": 256, "n_heads": 4, "vocab_size": 8000}),
    (torch.bfloat16, 1, {"norm": "post", "positions": "alibi", "d_model": 256, "n_heads": 2}),
]


@torch.inference_mode()
def launches_of(dtype: torch.dtype, width: int, options: dict[str, Any]) -> list[Launch]:
    model = tiny_model(**options).to(dtype)
    network = FusedNetwork(model, CONTROL_IDS, Capacity(4, 16, 32, 48), True)
    cpu = torch.device("cpu")
    utf8 = Utf8Tables.of({5: 0x41}, model.config.tgt_vocab_size, cpu) if width > 1 else None
    search = FusedSearch(SearchSizes(4, 16, 48), SearchTokens(EOS, 0), cpu, utf8)
    rows = torch.arange(2 * width).view(2, width).tolist()
    features = Features(False, False, width > 1, width > 1, 0, 0)
    with noted_launches() as launches:
        Step(network, search).run(table_of(rows), StepShape(32, 32), features)
    return launches


def compile_for(launch: Launch, capability: int) -> int:
    """Size in bytes of the machine code."""
    names = launch.kernel.arg_names
    values = dict(zip(names, launch.arguments, strict=False))
    signature = {
        name: _TYPES[getattr(values[name], "dtype", type(values[name]))]
        if name in values
        else "constexpr"
        for name in names
    }
    source = ASTSource(launch.kernel, signature, launch.constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32))
    return len(compiled.asm["cubin"])


def main() -> None:
    launches = [one for variant in VARIANTS for one in launches_of(*variant)]
    distinct = {
        (
            one.kernel.__name__,
            str(one.constants),
            str([getattr(a, "dtype", 0) for a in one.arguments]),
        ): one
        for one in launches
    }
    for launch, capability in itertools.product(distinct.values(), CAPABILITIES):
        size = compile_for(launch, capability)
        print(launch.kernel.__name__, f"sm_{capability}", size)


if __name__ == "__main__":
    main()
