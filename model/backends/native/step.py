"""A step in one call of the compiled library; sentences with terms run as in `Step` beside it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from model.backends.native.network import CompiledPart, NativeNetwork
from model.backends.native.search import NativeSearch
from model.decoding.network_interface import BatchRows, StepShape
from model.decoding.slot_allocator import BatchView
from model.decoding.slot_options import Features
from model.decoding.step import Progress, Step
from model.decoding.transfer import Pending, Ready


class _Parts(NamedTuple):
    """The slots (N,) of a step, and its sentences without and with terms."""

    slots: np.typing.NDArray[np.int64]
    compiled: CompiledPart | None
    with_terms: BatchRows | None


class NativeStep(Step):
    """A step in one library call. The library knows all options but terms: sentences with terms
    take their step operation by operation, and the others do not wait for tensors."""

    def __init__(self, network: NativeNetwork, search: NativeSearch) -> None:
        super().__init__(network, search)
        self._compiled, self._compiled_search = network, search
        self._members: BatchRows | None = None
        self._parts = _Parts(np.empty(0, dtype=np.int64), None, None)

    def take(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> Pending[Progress]:
        search, parts = self._compiled_search, self._parts_of(members, features)
        num_ended = 0
        if parts.compiled:
            num_ended = self._compiled.decode(search.state, parts.compiled, shape_of_step.target)
        if parts.with_terms:
            self._extend(parts.with_terms, shape_of_step, features)
        ended = search.ended(parts.slots) if num_ended or parts.with_terms else []
        if not features.has_streams:
            return Ready(Progress(ended))
        return Ready(Progress(ended, *search.settled(parts.slots, shape_of_step.target)))

    @torch.inference_mode()
    def _extend(self, members: BatchRows, shape_of_step: StepShape, features: Features) -> None:
        self.extend(members.table, shape_of_step, features)

    def _parts_of(self, members: BatchRows, features: Features) -> _Parts:
        """Reuse the last step's parts if the members are the same."""
        if self._members is not members:
            self._members, self._parts = members, self._split(members.view, features)
        return self._parts

    def _split(self, view: BatchView, features: Features) -> _Parts:
        slots = np.array(view.slots, dtype=np.int64)
        if not features.has_terms:
            return _Parts(slots, CompiledPart(view), None)
        has_terms = self._compiled_search.has_terms(slots)
        others, with_terms = view.part(~has_terms), view.part(has_terms)
        return _Parts(
            slots,
            CompiledPart(others) if others.slots else None,
            BatchRows(with_terms, self._drawn(with_terms), torch.device("cpu")),
        )

    def _drawn(self, view: BatchView) -> list[int]:
        """Places of the rows that sample their token."""
        is_drawn = self._compiled_search.is_sampling(view.columns.slots)
        return is_drawn.nonzero()[0].tolist()
