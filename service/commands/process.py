"""The process of a command: its standard streams, Ctrl-C, and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + 13  # what a shell shows for SIGPIPE
_STANDARD_STREAMS = (0, 1, 2)


def open_missing_streams() -> None:
    """Put /dev/null where standard input, output or error is closed.

    Otherwise the next file that is opened would take the descriptor, and what is printed would be
    written into it. `sys.stdin` and `sys.stdout` stay None, so that a command can tell.
    """
    for descriptor in _STANDARD_STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


@contextlib.contextmanager
def exiting_on_interrupt() -> Iterator[None]:
    """Ctrl-C ends the process at once: for imports, in which an exception may be lost or shown."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is not signal.default_int_handler:  # it is ignored, or a server has its own
        yield
        return
    signal.signal(signal.SIGINT, _exit_interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def end_process(code: str | int | None) -> None:
    """End with this exit code.

    Where standard output cannot take what is left for it, or threads may still compute after an
    interrupt, Python's own shutdown would show errors: then there is none.
    """
    can_shut_down = code not in (INTERRUPTED, BROKEN_PIPE)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            can_shut_down = False
    if can_shut_down:
        sys.exit(code)
    os._exit(code if isinstance(code, int) and code else 2)


def _exit_interrupted(_: int, __: FrameType | None) -> None:
    os._exit(INTERRUPTED)
