"""A step in one call of the compiled library."""

from __future__ import annotations

from model.backends.native.network import CompiledPart, NativeNetwork
from model.backends.native.search import NativeSearch
from model.backends.pytorch.step import Progress, Step
from model.backends.pytorch.transfer import Pending, Ready
from model.decoding.network_interface import BatchRows, StepShape
from model.decoding.slot_options import Features


class NativeStep(Step):
    """A step in one library call, which knows all options."""

    def __init__(self, network: NativeNetwork, search: NativeSearch) -> None:
        super().__init__(network, search)
        self._compiled, self._compiled_search = network, search
        self._members: BatchRows | None = None
        self._part: CompiledPart | None = None

    def take(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> Pending[Progress]:
        search, view = self._compiled_search, self._compiled_part(members)
        num_ended = self._compiled.decode(search.state, view, shape_of_step.target)
        ended = search.ended(view.slots) if num_ended else []
        if not features.has_streams:
            return Ready(Progress(ended))
        return Ready(Progress(ended, *search.settled(view.slots, shape_of_step.target)))

    def _compiled_part(self, members: BatchRows) -> CompiledPart:
        """Reuse the last step's view if the members are the same."""
        if self._part is None or self._members is not members:
            self._members, self._part = members, CompiledPart(members.view)
        return self._part
