"""The fused kernels that a runner may use. Each can be switched off alone (`model.proving`).

Triton is imported only when one is used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Collection
from typing import Literal

from model.backends.torch_eager import EagerNetwork
from model.decoding.search import Search

FusedPath = Literal["fused_layers", "fused_ranking", "fused_search"]
"""The decoder's layers (`network`), the likeliest tokens (`ranking`), the search (`advance`)."""
FUSED_PATHS: tuple[FusedPath, ...] = ("fused_layers", "fused_ranking", "fused_search")


def has_triton() -> bool:
    """Whether Triton is installed; PyTorch's CUDA builds bring it."""
    return importlib.util.find_spec("triton") is not None


def fused_network(paths: Collection[FusedPath]) -> type[EagerNetwork]:
    """The network that uses these of the kernels."""
    if "fused_layers" not in paths:
        return EagerNetwork
    from model.backends.fused.network import FusedNetwork

    return FusedNetwork


def fused_search(paths: Collection[FusedPath]) -> type[Search]:
    """The search that uses these of the kernels."""
    ranks, advances = "fused_ranking" in paths, "fused_search" in paths
    if not (ranks or advances):
        return Search
    from model.backends.fused.search import AdvancingSearch, FusedSearch, RankingSearch

    if ranks and advances:
        return FusedSearch
    return RankingSearch if ranks else AdvancingSearch
