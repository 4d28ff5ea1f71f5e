"""End the process by a signal or after a failure, without Python's own shutdown."""

from __future__ import annotations

import logging
import os
import signal
import time
from types import FrameType

_logger = logging.getLogger(__name__)
EXIT_DEVICE_LOST = 70
"""EX_SOFTWARE of sysexits.h."""
EXIT_MAY_PASS = 75
"""EX_TEMPFAIL: the same command may succeed later."""
_ANSWER_SECONDS = 1.0


def end_at_once(number: int, frame: FrameType | None = None) -> None:
    """A signal handler that ends the process by the signal's default action.

    It skips clean-up, so it takes no time and threads cannot use freed objects. Linux ignores the
    signal in the first process of a container, which then exits with the shell's status for it.
    """
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    os._exit(128 + number)


def end_after_failure(reason: str, code: int = EXIT_DEVICE_LOST) -> None:
    """Log the reason and end the process with this code; with the usual one a supervisor starts a
    new one. Call it outside the event loop: answers to clients still leave within a second."""
    _logger.critical("the process ends: %s", reason)
    time.sleep(_ANSWER_SECONDS)
    logging.shutdown()
    os._exit(code)


def end_at_once_on_sigterm() -> None:
    """Works in a container's first process too; applies until the server sets its handlers."""
    signal.signal(signal.SIGTERM, end_at_once)
