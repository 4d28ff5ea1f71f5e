"""Make a model's runners: load its weights once a device, warm up, prove that they translate."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from model.backends.memory import (
    full_bytes,
    native_step_bytes,
    packed_bytes,
    step_bytes,
    weight_bytes,
)
from model.backends.native import PackedModel
from model.backends.selection import Backend, prepare, resolve_backend
from model.checkpoint import StoredCheckpoint
from model.decoding.decoder import Capacity, Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.decoding.step_cost import StepCost
from model.network.config import ModelConfig
from model.offline import translate_all
from model.runner import Runner
from model.trials.fast_paths import (
    built_in_sources,
    fault_of,
    proof_sentences,
    proven_precision,
    proven_runner,
)
from model.trials.step_timing import measure_step_cost
from service.translation.second_translation import LEAST_BEAM

if TYPE_CHECKING:
    from model.backends.shared_files import SharedFiles
    from model.network.transformer import Transformer

_logger = logging.getLogger(__name__)
_PROOF_SLOTS = 8
_PROOF_TARGET_TOKENS = 128


class ModelPlacement(NamedTuple):
    """Devices, precision and backend of a model; None: the best backend. The native backend
    computes with the instruction set (`choose_instruction_set`)."""

    devices: Sequence[str]
    precision: Precision
    backend: Backend | None
    instruction_set: str | None = None

    @property
    def is_gpu(self) -> bool:
        return self.devices[0] != "cpu"

    @property
    def is_native(self) -> bool:
        backend = self.backend or resolve_backend("auto", self.devices[0], self.precision)
        return backend == "native"


def runner_bytes(
    config: ModelConfig, placement: ModelPlacement, capacity: Capacity, max_beam_size: int
) -> int:
    """Memory of a full runner without the weights."""
    held = full_bytes(config, capacity, max_beam_size, placement.precision)
    if placement.is_native:
        return held + native_step_bytes(config, capacity)
    return held + step_bytes(config, capacity, placement.precision)


def weights_bytes(config: ModelConfig, placement: ModelPlacement) -> int:
    """Memory of the weights on one device."""
    return (packed_bytes if placement.is_native else weight_bytes)(config, placement.precision)


class RunnerFactory:
    """Makes the runners of one model. Those of a device share its weights, even after a rebuild."""

    def __init__(
        self,
        checkpoint: StoredCheckpoint,
        placement: ModelPlacement,
        max_beam_size: int,
        shared: SharedFiles | None = None,
    ) -> None:
        """`shared`: as of `PackedModel`."""
        self.placement = placement
        self._checkpoint = checkpoint
        self._max_beam_size, self._shared = max_beam_size, shared
        self._control_ids = checkpoint.tokenizer.control_ids()
        self._step_cost: StepCost | None = None
        self._weights: dict[tuple[str, Precision], Transformer | PackedModel] = {}

    def choose_precision(self) -> None:
        """On a GPU: keep to half precision unless the network or the model overflows in it.

        Raises MemoryError or DeviceLost."""
        from model.backends.pytorch.devices import has_bfloat16

        device = self.placement.devices[0]
        wanted: list[Precision] = ["float32"]
        if all(map(has_bfloat16, self.placement.devices)):
            wanted.insert(0, "bfloat16")
        if self._checkpoint.info.architecture.fits_float16:
            wanted.insert(0, "float16")

        def translate(precision: Precision) -> list[Finished]:
            self._weights.clear()  # before those of the next precision take as much
            return self._plain(device, precision)

        precision = proven_precision(wanted, translate)
        if (device, precision) not in self._weights:
            self._weights.clear()
        self.placement = self.placement._replace(precision=precision)

    def require_precision(self) -> None:
        """Raises ValueError if the network overflows in the precision."""
        fits = self._checkpoint.info.architecture.fits_float16
        if self.placement.precision == "float16" and not fits:
            raise ValueError(
                "precision must be bfloat16 or float32, got float16, which T5's sums overflow"
            )

    def make_warm_runner(
        self, capacity: Capacity, device: str, num_workers: int, scheduling: str
    ) -> Runner:
        """A runner, one of `num_workers`, that is warmed up for the model's beam, for greedy search
        and for second translations, and whose recorded steps translate right. The cost of a step is
        measured once, if short work goes first: only this needs it."""
        precision, decoding = self.placement.precision, self._checkpoint.info.decoding
        usual, widest = [decoding, DecodingOptions(beam_size=1)], self._max_beam_size
        beam_size = max(decoding.beam_size, min(LEAST_BEAM, widest))
        second = [dataclasses.replace(decoding, sampling=False, beam_size=beam_size)]
        runner = proven_runner(
            lambda chosen: self._make(capacity, device, precision, chosen),
            self.placement.backend,
            lambda made: made.warm_up(usual, second, has_prefix=self._has_tags),
            lambda made: fault_of(made, self._sentences, self._plain(device, precision)),
        )
        if runner.can_step_subset:
            runner.share_cores(num_workers)
        if runner.can_step_subset and scheduling == "short-first":
            self._step_cost = self._step_cost or measure_step_cost(runner, decoding)
            runner.step_cost = self._step_cost
        return runner

    def weights(self) -> Transformer | PackedModel:
        """The weights of the first device's runners."""
        placement = self.placement
        return self._prepared(placement.devices[0], placement.precision, placement.backend)

    def _make(
        self,
        capacity: Capacity,
        device: str,
        precision: Precision,
        backend: Backend | None,
    ) -> Runner:
        return Runner(
            self._prepared(device, precision, backend),
            self._control_ids,
            **capacity._asdict(),
            max_beam_size=self._max_beam_size,
            precision=precision,
            backend=backend,
            byte_ids=self._checkpoint.tokenizer.byte_ids(),
            copied_ids=self._checkpoint.tokenizer.copied_ids(),
            alignment_heads=self._checkpoint.info.alignment_heads,
        )

    def _prepared(
        self, device: str, precision: Precision, backend: Backend | None
    ) -> Transformer | PackedModel:
        key = device, precision
        if key not in self._weights:
            stored = self._checkpoint.model.on(device)
            own = (precision, backend, self.placement.instruction_set, self._shared)
            self._weights[key] = prepare(stored, self._control_ids, *own)
        return self._weights[key]

    def _plain(self, device: str, precision: Precision) -> list[Finished]:
        """The built-in sentences, translated by the plain PyTorch path."""
        limit = max(len(sentence.ids) for sentence in self._sentences)
        rows = max(_PROOF_SLOTS * 4, self._max_beam_size)
        capacity = Capacity(_PROOF_SLOTS, rows, limit, _PROOF_TARGET_TOKENS)
        runner = self._make(capacity, device, precision, "eager")
        return translate_all(runner, self._sentences)

    @functools.cached_property
    def _sentences(self) -> list[SourceSentence]:
        decoding = self._checkpoint.info.decoding
        return proof_sentences(built_in_sources(self._checkpoint), decoding)

    @property
    def _has_tags(self) -> bool:
        """Whether translations begin with a tag of their language."""
        _, target = self._checkpoint.info.pairs[0]
        return bool(self._checkpoint.tokenizer.target_start(target))
