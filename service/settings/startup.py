"""Why a server cannot start."""

from __future__ import annotations


class StartupError(ValueError):
    """The server cannot start; the message says what is wrong."""
