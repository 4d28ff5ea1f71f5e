"""A bar that shows on a terminal how far a command is, of training and of all others."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NoReturn

from tqdm import tqdm

if TYPE_CHECKING:
    _Bar = tqdm[NoReturn]
else:
    _Bar = tqdm


class ProgressBar(_Bar):
    """tqdm's, for one process: its own lock is one of several, for which Python starts a process
    from version 3.14 on, and warns if the command ends early."""

    _lock = threading.RLock()
