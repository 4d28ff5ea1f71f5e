"""What a checkpoint that cannot be served raises."""

from __future__ import annotations


class CheckpointError(ValueError):
    """The checkpoint cannot be served; the message gives the value found and the one needed."""
