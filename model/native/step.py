"""`model.step.Step` in one call of the compiled library, wherever nothing needs the logits."""

from __future__ import annotations

from model.native.network import NativeNetwork
from model.native.search import NativeSearch
from model.network import Extent, RowTable
from model.slots import Features
from model.step import Step


class NativeStep(Step):
    """The same step; where options change the logits, operation by operation as elsewhere."""

    def __init__(self, network: NativeNetwork, search: NativeSearch) -> None:
        super().__init__(network, search)
        self._compiled, self._state = network, search.state

    def extend(self, table: RowTable, extent: Extent, features: Features) -> None:
        if features.needs_logits:
            super().extend(table, extent, features)
        else:
            self._compiled.decode(self._state, table, extent.target)
