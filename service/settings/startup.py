"""Why a server cannot start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from model.backends.device_lost import DeviceLost


class StartupError(ValueError):
    """The server cannot start; the message says what is wrong."""


@contextlib.contextmanager
def startup_errors(name: str) -> Iterator[None]:
    """Raise what loading the model of that name raises as StartupError."""
    try:
        yield
    except (MemoryError, DeviceLost, OSError, ValueError) as error:
        raise StartupError(f"{name}: {error}") from error
