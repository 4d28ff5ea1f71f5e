"""Codes of languages."""

from __future__ import annotations

import functools


@functools.lru_cache(1024)
def primary(code: str) -> str:
    """The language without script or region: "pt" for "pt-BR"."""
    return code.split("-")[0].lower()
