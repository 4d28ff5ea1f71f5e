"""Make a model's runners: load its weights once a device, warm up, prove that they translate."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from typing import NamedTuple

from model.backends.devices import has_bfloat16
from model.backends.fast_paths import FastPath, possible_paths
from model.backends.memory import (
    full_bytes,
    native_step_bytes,
    packed_bytes,
    step_bytes,
    weight_bytes,
)
from model.backends.native import PackedModel
from model.backends.selection import Backend, prepare, resolve_backend
from model.checking import built_in_sources
from model.checkpoint import StoredCheckpoint
from model.decoding.network_interface import Capacity, Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.device_lost import DeviceLost
from model.network.transformer import Transformer
from model.offline import translate_all
from model.proving import (
    fault_of,
    proof_sentences,
    proven_paths,
    proven_precision,
    proven_runner,
)
from model.runner import Runner
from model.step_timing import measure_step_cost

_logger = logging.getLogger(__name__)
_PROOF_SLOTS = 8
_PROOF_TARGET_TOKENS = 128


class Placement(NamedTuple):
    """Devices, precision and backend of a model; None: the best backend."""

    devices: Sequence[str]
    precision: Precision
    backend: Backend | None

    @property
    def is_gpu(self) -> bool:
        return self.devices[0] != "cpu"


class RunnerFactory:
    """Makes the runners of one model. Those of a device share its weights, also after a rebuild."""

    def __init__(
        self,
        checkpoint: StoredCheckpoint,
        placement: Placement,
        max_beam_size: int,
    ) -> None:
        self.placement = placement
        self._checkpoint = checkpoint
        self._max_beam_size = max_beam_size
        self._control_ids = checkpoint.tokenizer.control_ids()
        self._proven_paths: dict[str, Sequence[FastPath]] = {}
        self._weights: dict[tuple[str, Precision], Transformer | PackedModel] = {}

    def choose_precision(self) -> None:
        """On a GPU: keep to half precision unless the model overflows in it.

        Raises MemoryError or DeviceLost."""
        device = self.placement.devices[0]
        wanted: list[Precision] = ["float16", "float32"]
        if all(map(has_bfloat16, self.placement.devices)):
            wanted.insert(1, "bfloat16")

        def translate(precision: Precision) -> list[Finished]:
            self._weights.clear()  # before those of the next precision take as much
            return self._plain(device, precision)

        precision = proven_precision(wanted, translate)
        if (device, precision) not in self._weights:
            self._weights.clear()
        self.placement = self.placement._replace(precision=precision)

    def make_warm_runner(self, capacity: Capacity, device: str, num_workers: int) -> Runner:
        """A runner that is warmed up, one of `num_workers`; on a GPU its fast paths have proved
        themselves."""
        runner = self._proven_with_fast(capacity, device) or self._proven(
            capacity, device, self.placement.backend, ()
        )
        kept = runner.fast_paths
        runner.refused_paths = (
            *runner.refused_paths,
            *(path for path in self._possible_paths() if path not in kept),
        )
        if runner.can_step_subset:
            runner.share_cores(num_workers)
            decoding = self._checkpoint.info.decoding
            runner.step_cost = measure_step_cost(runner, decoding)
        return runner

    def _proven_with_fast(self, capacity: Capacity, device: str) -> Runner | None:
        """A recorded runner with the fast paths that work alone, if they also work together."""
        if not (fast := self._fast_paths(device)):
            return None
        try:
            return self._proven(capacity, device, "graphs", fast)
        except DeviceLost:
            raise
        except RuntimeError as error:
            self._proven_paths[device] = ()
            _logger.warning("all fast paths are switched off here: %s", error)
            return None

    def _proven(
        self,
        capacity: Capacity,
        device: str,
        backend: Backend | None,
        fast_paths: Sequence[FastPath],
    ) -> Runner:
        precision, decoding = self.placement.precision, self._checkpoint.info.decoding
        return proven_runner(
            lambda chosen: self._make(capacity, device, precision, chosen, fast_paths),
            backend,
            lambda made: made.warm_up([decoding, DecodingOptions(beam_size=1)], self._has_tags),
            lambda made: fault_of(made, self._sentences, self._plain(device, precision)),
        )

    def weights(self) -> Transformer | PackedModel:
        """The weights of the first device's runners."""
        placement = self.placement
        return self._prepared(placement.devices[0], placement.precision, placement.backend)

    def needed_bytes(self, capacity: Capacity) -> int:
        """Memory of a full runner without the weights."""
        config, precision = self._checkpoint.model.config, self.placement.precision
        held = full_bytes(config, capacity, self._max_beam_size, precision)
        if self._is_native:
            return held + native_step_bytes(config, capacity)
        return held + step_bytes(config, capacity, precision)

    def weight_bytes(self) -> int:
        """Memory of the weights on one device."""
        config, precision = self._checkpoint.model.config, self.placement.precision
        return (packed_bytes if self._is_native else weight_bytes)(config, precision)

    @property
    def _is_native(self) -> bool:
        placement = self.placement
        backend = placement.backend or resolve_backend(
            "auto", placement.devices[0], placement.precision
        )
        return backend == "native"

    def _possible_paths(self) -> Sequence[FastPath]:
        """The fast paths to try: none without a GPU, or if another backend is set."""
        is_recorded = self.placement.is_gpu and self.placement.backend in (None, "graphs")
        return possible_paths() if is_recorded else ()

    def _fast_paths(self, device: str) -> Sequence[FastPath]:
        """The fast paths that translate on this device as the plain path does; tried once."""
        if device not in self._proven_paths:
            precision, possible = self.placement.precision, self._possible_paths()
            plain = self._plain(device, precision) if possible else []

            def prove(path: FastPath) -> str | None:
                runner = self._proof_runner(device, precision, [path])
                runner.warm_up([])
                return fault_of(runner, self._sentences, plain)

            self._proven_paths[device] = proven_paths(possible, prove)
        return self._proven_paths[device]

    def _make(
        self,
        capacity: Capacity,
        device: str,
        precision: Precision,
        backend: Backend | None,
        fast_paths: Sequence[FastPath] = (),
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
            fast_paths=fast_paths,
        )

    def _prepared(
        self, device: str, precision: Precision, backend: Backend | None
    ) -> Transformer | PackedModel:
        key = device, precision
        if key not in self._weights:
            stored = self._checkpoint.model.on(device)
            self._weights[key] = prepare(stored, self._control_ids, precision, backend)
        return self._weights[key]

    def _plain(self, device: str, precision: Precision) -> list[Finished]:
        """The built-in sentences, translated by the plain PyTorch path."""
        return translate_all(self._proof_runner(device, precision, ()), self._sentences)

    def _proof_runner(
        self, device: str, precision: Precision, fast_paths: Sequence[FastPath]
    ) -> Runner:
        """A small runner without recorded steps."""
        limit = max(len(sentence.ids) for sentence in self._sentences)
        rows = max(_PROOF_SLOTS * 4, self._max_beam_size)
        capacity = Capacity(_PROOF_SLOTS, rows, limit, _PROOF_TARGET_TOKENS)
        return self._make(capacity, device, precision, "eager", fast_paths)

    @functools.cached_property
    def _sentences(self) -> list[SourceSentence]:
        decoding = self._checkpoint.info.decoding
        return proof_sentences(built_in_sources(self._checkpoint), decoding)

    @property
    def _has_tags(self) -> bool:
        """Whether translations begin with a tag of their language."""
        _, target = self._checkpoint.info.pairs[0]
        return bool(self._checkpoint.tokenizer.target_start(target))
