"""Find and load the compiled library."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import weakref
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

_MODULE = "model.native._library"
_pointer = ctypes.c_void_p
_int = ctypes.c_int32
_MOST_KERNELS = 8
_SHORT = {"dragoman_stable_lengths"}
"""Over so soon that other Python threads need not run meanwhile."""
NextWeight = ctypes.CFUNCTYPE(_pointer)
_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "dragoman_kernels": (ctypes.c_char_p, [_int]),
    "dragoman_is_fast_quantised": (_int, []),
    "dragoman_pack": (_pointer, [_pointer, _pointer, NextWeight]),
    "dragoman_let_go": (None, [_pointer]),
    "dragoman_new": (_pointer, [_pointer, _pointer]),
    "dragoman_delete": (None, [_pointer]),
    "dragoman_use_threads": (None, [_pointer, _int]),
    "dragoman_encode": (None, [_pointer, _int, *[_pointer] * 4]),
    "dragoman_step": (None, [_pointer, _int, *[_pointer] * 5]),
    "dragoman_decode": (_int, [_pointer, _pointer, _pointer, _int, _int]),
    "dragoman_logits": (None, [_pointer, _pointer]),
    "dragoman_rank": (None, [_pointer, _int, _pointer, _pointer]),
    "dragoman_reorder": (None, [_pointer, _int, _pointer, _pointer, _int]),
    "dragoman_advance": (None, [_pointer, _pointer, _int, _int, _pointer, _int, *[_pointer] * 4]),
    "dragoman_stable_lengths": (None, [_pointer, _pointer, _int, _pointer]),
}


@functools.cache
def load_library() -> ctypes.CDLL | None:
    """The library with its signatures; None where it was not compiled."""
    spec = importlib.util.find_spec(_MODULE)
    if spec is None or spec.origin is None:
        return None
    library, keeping_lock = ctypes.CDLL(spec.origin), ctypes.PyDLL(spec.origin)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(keeping_lock if name in _SHORT else library, name)
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    return library


def free_with(owner: object, free: Callable[[int], None], handle: int) -> None:
    """Call `free(handle)` when the owner is collected, but not when the interpreter ends: daemon
    threads may still compute with it then, and the process's memory goes anyway."""
    weakref.finalize(owner, free, handle).atexit = False


def is_available() -> bool:
    """Whether the library was compiled when the package was installed."""
    return load_library() is not None


def has_fast_int8() -> bool:
    """Whether this CPU multiplies bytes faster than floats (AVX-512 VNNI or AMX)."""
    library = load_library()
    return library is not None and bool(library.dragoman_is_fast_quantised())


def kernel_names() -> list[str]:
    """The instruction sets that this CPU runs, the fastest first; none without the library."""
    library = load_library()
    if library is None:
        return []
    names = map(library.dragoman_kernels, range(_MOST_KERNELS))
    return [name.decode() for name in names if name]


def address(numbers: Tensor | NDArray[np.generic] | None) -> int | None:
    """Where the numbers of a contiguous tensor or array lie; None, the null pointer, for none."""
    if numbers is None:
        return None
    if isinstance(numbers, Tensor):
        assert numbers.is_contiguous()
        return numbers.data_ptr()
    assert numbers.flags.c_contiguous
    return numbers.ctypes.data
