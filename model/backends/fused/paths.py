"""The network and the search that use fused kernels. Triton is imported only for one of them."""

from __future__ import annotations

from collections.abc import Collection

from model.backends.fast_paths import FastPath
from model.backends.torch_eager import EagerNetwork
from model.decoding.search import Search


def fused_network(paths: Collection[FastPath]) -> type[EagerNetwork]:
    """The network that uses these of the kernels."""
    if "fused_layers" not in paths:
        return EagerNetwork
    from model.backends.fused.network import FusedNetwork

    return FusedNetwork


def fused_search(paths: Collection[FastPath]) -> type[Search]:
    """The search that uses these of the kernels."""
    ranks, advances = "fused_ranking" in paths, "fused_search" in paths
    if not (ranks or advances):
        return Search
    from model.backends.fused.search import AdvancingSearch, FusedSearch, RankingSearch

    if ranks and advances:
        return FusedSearch
    return RankingSearch if ranks else AdvancingSearch
