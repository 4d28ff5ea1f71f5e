"""Find and load the compiled library."""

from __future__ import annotations

import ctypes
import errno
import functools
import importlib.util
import itertools
import os
import weakref
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_MODULE = "model.backends.native._library"
_pointer = ctypes.c_void_p
_int = ctypes.c_int32
_MOST_KERNELS = 8
_SLOW_INT8 = ("baseline", "auto")
"""The portable C++, and the answer without a compiled library."""
_SHORT = {"dragoman_stable_lengths"}
"""Functions so short that they keep the GIL."""
NextWeight = ctypes.CFUNCTYPE(_pointer, _int, _int)
_ARGUMENTS: dict[str, list[object]] = {
    "dragoman_kernels": [_int, _pointer],
    "dragoman_widen": [ctypes.c_int64, _pointer, _pointer],
    "dragoman_packed_bytes": [_pointer, _pointer],
    "dragoman_pack": [_pointer, _pointer, NextWeight, _pointer, ctypes.c_int64, _pointer],
    "dragoman_let_go": [_pointer],
    "dragoman_new": [_pointer, _pointer, _pointer],
    "dragoman_delete": [_pointer],
    "dragoman_use_threads": [_pointer, _int],
    "dragoman_encode": [_pointer, _int, *[_pointer] * 4],
    "dragoman_shorten": [_pointer, _int, *[_pointer] * 3],
    "dragoman_step": [_pointer, _int, *[_pointer] * 5],
    "dragoman_attention": [_pointer, _int, *[_pointer] * 5, _int, _pointer, _pointer, _int],
    "dragoman_decode": [_pointer, _pointer, _pointer, _int, _int, _pointer],
    "dragoman_logits": [_pointer, _pointer],
    "dragoman_rank": [_pointer, _int, _pointer, _pointer],
    "dragoman_reorder": [_pointer, _int, _pointer, _pointer, _int],
    "dragoman_stable_lengths": [_pointer, _pointer, _int, _pointer],
    "dragoman_linear": [*[_int] * 6, *[_pointer] * 4],
    "dragoman_time_linear": [_int] * 5,
}
_NO_MEMORY, _NO_THREAD, _OUT_OF_BOUNDS = -1, -2, -4
"""Error codes of api.cpp; other negative codes are generic failures."""


class Mirrored(ctypes.Structure):
    """A mirror of a struct of the compiled library; its name there has no underscore."""


class _Field(ctypes.Structure):
    """`Field` of api.cpp: one field of a struct, or a whole struct."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("offset", ctypes.c_int64),
        ("size", ctypes.c_int64),
    )


@functools.cache
def load_library() -> ctypes.CDLL | None:
    """The library with its signatures, or None if it was not compiled.

    Raises OSError if its functions or structs do not match this file.
    """
    spec = importlib.util.find_spec(_MODULE)
    if spec is None or spec.origin is None:
        return None
    library, keeping_lock = ctypes.CDLL(spec.origin), ctypes.PyDLL(spec.origin)
    try:
        _declare(library, keeping_lock)
        compiled = _compiled_layout(library)
    except AttributeError as error:
        raise _outdated(spec.origin, str(error)) from error
    for name, expected in _mirrored_layout().items():
        if (found := compiled.get(name)) != expected:
            raise _outdated(spec.origin, f"{name} has offset and size {found}, expected {expected}")
    return library


def required_library() -> ctypes.CDLL:
    """The library. Raises RuntimeError if it was not compiled."""
    library = load_library()
    if library is None:
        raise RuntimeError("model/backends/native was not compiled")
    return library


def _outdated(path: str, reason: str) -> OSError:
    return OSError(
        f"{path} does not fit the Python code beside it ({reason}); "
        "compile it again by installing the package again"
    )


def _declare(library: ctypes.CDLL, keeping_lock: ctypes.PyDLL) -> None:
    """Set the signatures, and turn failures into exceptions."""
    library.dragoman_fields.restype = ctypes.POINTER(_Field)
    for name, arguments in _ARGUMENTS.items():
        function = getattr(keeping_lock if name in _SHORT else library, name)
        function.restype, function.argtypes = _int, arguments
        function.errcheck = functools.partial(_checked, name)
        setattr(library, name, function)


def _checked(name: str, result: int, function: object, arguments: object) -> int:
    """Return the result of the library's function `name`; raise an exception for a failure."""
    if result >= 0:
        return result
    if result == _NO_MEMORY:
        raise MemoryError(f"memory ran out in {name}")
    if result == _NO_THREAD:
        error = OSError("no more threads can be started")
        error.errno = errno.EAGAIN  # as the system says; the message stays without it
        raise error
    if result == _OUT_OF_BOUNDS:
        raise ValueError(f"{name} got an argument that is out of bounds")
    raise RuntimeError(f"{name} failed")


def _compiled_layout(library: ctypes.CDLL) -> dict[str, tuple[int, int]]:
    """Offset and size of the library's structs and fields, by name."""
    fields = itertools.takewhile(lambda field: field.name, iter(library.dragoman_fields()))
    return {field.name.decode(): (field.offset, field.size) for field in fields}


def _mirrored_layout() -> dict[str, tuple[int, int]]:
    """Offset and size of the mirrors and their fields, by name."""
    layout = {}
    for mirror in Mirrored.__subclasses__():
        struct = mirror.__name__.removeprefix("_")
        layout[struct] = (0, ctypes.sizeof(mirror))
        for name, *_ in mirror._fields_:
            field = getattr(mirror, name)
            layout[f"{struct}.{name}"] = (field.offset, field.size)
    return layout


def widened(halves: NDArray[np.float16]) -> NDArray[np.float32]:
    """Finite float16 numbers as float32; NumPy takes eight times as long."""
    halves = np.ascontiguousarray(halves)
    numbers = np.empty(halves.shape, np.float32)
    required_library().dragoman_widen(halves.size, address(halves), address(numbers))
    return numbers


def free_with(
    owner: object, free: Callable[[ctypes.c_void_p], object], handle: ctypes.c_void_p
) -> None:
    """Call `free(handle)` when the owner is collected, but not at interpreter exit: daemon threads
    may still use it then, and the process frees its memory anyway."""
    weakref.finalize(owner, free, handle).atexit = False


NOT_COMPILED = (
    "the native backend was not compiled, and without it a CPU takes about ten times as long; "
    "install dragoman again where there is a C++ compiler"
)


def is_available() -> bool:
    """Whether the library was compiled when the package was installed."""
    return load_library() is not None


def choose_instruction_set(name: str | None = None) -> str:
    """The instruction set to compute with; "auto" is the fastest one of this CPU.

    None: the one that DRAGOMAN_INSTRUCTION_SET names, which is read here and nowhere else so that
    it also holds for code without the server's settings. Raises ValueError if the CPU lacks it.
    """
    name = name or os.environ.get("DRAGOMAN_INSTRUCTION_SET", "auto")
    usable = kernel_names()
    if name == "auto":
        return usable[0] if usable else name
    if name not in usable:
        found = ", ".join(usable) or "none, because model/backends/native was not compiled"
        raise ValueError(f"the instruction set {name} was asked for, but this CPU has {found}")
    return name


def has_fast_int8(instruction_set: str | None = None) -> bool:
    """Whether int8 is multiplied faster than float32; argument as of `choose_instruction_set`."""
    return choose_instruction_set(instruction_set) not in _SLOW_INT8


def kernel_names() -> list[str]:
    """The instruction sets that this CPU supports, fastest first; empty without the library."""
    library = load_library()
    if library is None:
        return []
    names = (_kernel_name(library, index) for index in range(_MOST_KERNELS))
    return [name.decode() for name in names if name]


def linear_speed(instruction_set: str, is_quantised: bool, rows: int) -> float:
    """Measured multiplications a nanosecond of one thread, for a layer of 512 inputs and 2,048
    outputs. Raises RuntimeError without the library, ValueError if the CPU lacks the set."""
    library, kernels = required_library(), kernel_names().index(instruction_set)
    inputs, outputs = 512, 2048
    nanoseconds = library.dragoman_time_linear(kernels, is_quantised, rows, inputs, outputs)
    return rows * inputs * outputs / float(nanoseconds)


def _kernel_name(library: ctypes.CDLL, index: int) -> bytes | None:
    name = ctypes.c_char_p()
    library.dragoman_kernels(index, ctypes.byref(name))
    return name.value


def address(numbers: NDArray[np.generic] | None) -> int | None:
    """The data address of a contiguous array; None (the null pointer) for None."""
    if numbers is None:
        return None
    assert numbers.flags.c_contiguous
    return numbers.ctypes.data
