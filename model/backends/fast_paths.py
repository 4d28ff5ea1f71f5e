"""The fast paths of a GPU besides recorded steps. `model.proving` switches each off alone."""

from __future__ import annotations

import importlib.util
from typing import Literal

FastPath = Literal["fused_layers", "fused_ranking", "fused_search"]
"""Kernels of our own in Triton: the decoder's layers (`fused.network`), the likeliest tokens (`fused.ranking`), the search
(`fused.advance`)."""
FUSED_PATHS: tuple[FastPath, ...] = ("fused_layers", "fused_ranking", "fused_search")


def possible_paths() -> tuple[FastPath, ...]:
    """Those to try on a GPU: kernels need Triton, which PyTorch's CUDA builds bring."""
    return FUSED_PATHS if importlib.util.find_spec("triton") is not None else ()
