"""The network as our C++ for CPUs: one call per step, float32 or int8.

The C++ beside this file is compiled when the package is installed. `parallel` divides loops among
threads, `kernels` has the arithmetic of each instruction set, `linear` the linear layers, `weights`
all layers of a Transformer, `network` its computation and caches, `search` one step of the
searches, `decode` one step of both, `api` the functions that Python calls.
"""

from model.backends.native.decoder import NativeDecoder
from model.backends.native.library import (
    NOT_COMPILED,
    choose_instruction_set,
    has_fast_int8,
    is_available,
    kernel_names,
    linear_speed,
)
from model.backends.native.network import NativeNetwork
from model.backends.native.packed import PackedModel
from model.backends.native.search import NativeSearch

__all__ = [
    "NOT_COMPILED",
    "NativeDecoder",
    "NativeNetwork",
    "NativeSearch",
    "PackedModel",
    "choose_instruction_set",
    "has_fast_int8",
    "is_available",
    "kernel_names",
    "linear_speed",
]
