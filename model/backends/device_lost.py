"""The error of a device that does not compute any more."""

from __future__ import annotations


class DeviceLost(RuntimeError):
    """The GPU's context is broken for this process: every further operation on it fails. Only a
    new process can use the device again."""
