"""`model.decoding.decoder.Decoder` in PyTorch, for GPUs, and the reference on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.backends.pytorch.cuda_graphs import GraphedStep, UsualSentences
from model.backends.pytorch.devices import ComputeDevice, dtype_of, make_device
from model.backends.pytorch.eager import EagerNetwork
from model.backends.pytorch.kernels import search_kernels
from model.backends.pytorch.recording import CudaRecorder
from model.backends.pytorch.search import Search
from model.backends.pytorch.step import Step
from model.backends.pytorch.transfer import DeviceToHost, Transfer
from model.checkpoint import StoredNetwork
from model.checkpoint.reference import load_network
from model.decoding.decoder import (
    BatchRows,
    Capacity,
    EndedSentence,
    Pending,
    Precision,
    Progress,
    Ranked,
    StepRecord,
    StepShape,
    WholeHypotheses,
)
from model.decoding.search_rules import SearchSizes, SearchTokens, Status
from model.decoding.sentence import SourceSentence
from model.decoding.slot_allocator import Compaction
from model.decoding.slot_options import Features
from model.decoding.utf8 import Utf8Tables
from model.network.config import AttentionHead
from model.network.transformer import Transformer

_MAX_ENCODE_TOKENS = 8192


class TensorDecoder:
    """A network and a search as PyTorch operations, and the step that runs both."""

    can_step_subset = False

    def __init__(
        self,
        device: ComputeDevice,
        network: EagerNetwork,
        search: Search,
        step: Step,
        heads: Sequence[AttentionHead],
    ) -> None:
        self._device, self._network, self._search, self.step = device, network, search, step
        self._heads = heads
        self.lag = step.lag

    @property
    def is_recorded(self) -> bool:
        return isinstance(self.step, GraphedStep)

    def in_use(self) -> AbstractContextManager[object]:
        return self._device.in_use()

    def share_cores(self, sharers: int) -> None:
        """Do nothing: PyTorch's thread pool belongs to the whole process."""

    def warm_up(self) -> None:
        self._network.warm_up()

    def record(self, usual: Sequence[SourceSentence]) -> None:
        if isinstance(self.step, GraphedStep):
            self.step.warm_up([UsualSentences(s.options.beam_size, Features.of(s)) for s in usual])

    def admit(
        self,
        slots: Sequence[int],
        rows: Sequence[Sequence[int]],
        sentences: Sequence[SourceSentence],
        limits: Sequence[int],
    ) -> None:
        """One copy takes all that the sentences need to the device."""
        transfer = Transfer(self._network.device)
        self._network.clear(slots, [row for each in rows for row in each], transfer)
        for batch in _by_length(list(zip(slots, sentences, strict=True))):
            sources = [sentence.ids for _, sentence in batch]
            self._network.encode([slot for slot, _ in batch], sources, transfer)
        self._search.admit(slots, sentences, limits, self._network.config.bos_id, transfer)
        transfer.run()

    def take_step(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> Pending[Progress]:
        return self.step.take_step(members, shape_of_step, features)

    @torch.inference_mode()
    def traced(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> StepRecord:
        return self.step.traced(members, shape_of_step, features)

    def status(self, slot: int) -> Status:
        return Status(int(self._search.status[slot]))

    def results(self, slots: Sequence[int], limits: Sequence[int], n_best: int) -> Pending[Ranked]:
        return self._search.results(slots, limits, n_best)

    @torch.inference_mode()
    def attention(self, ended: Sequence[EndedSentence]) -> Pending[NDArray[np.float32]]:
        slots = [sentence.slot for sentence in ended]
        best = self._search.best(slots, max(sentence.most_target_tokens for sentence in ended))
        rows = [sentence.row for sentence in ended]
        longest = max(sentence.num_source_tokens for sentence in ended)
        whole = WholeHypotheses[Tensor](slots, rows, *best, longest_source=longest)
        return DeviceToHost([self._network.attention(whole, self._heads)], Tensor.numpy)

    def move(self, moves: Compaction) -> None:
        """One copy takes all numbers to the device."""
        transfer = Transfer(self._network.device)
        if moves.rows:
            transfer.add(self._network.move_rows, *np.array(moves.rows, np.int64).T)
        if moves.slots:
            transfer.add(self._move_slots, *np.array(moves.slots, np.int64).T)
        transfer.run()

    def _move_slots(self, targets: Tensor, sources: Tensor) -> None:
        self._network.move_slots(targets, sources)
        self._search.copy_slots(targets, sources)


def load(model: Transformer | StoredNetwork, precision: Precision) -> Transformer:
    """A model in this precision on its device. Raises MemoryError if it does not fit."""
    dtype = dtype_of(precision)
    try:
        return model.to(dtype) if isinstance(model, Transformer) else load_network(model, dtype)
    except torch.OutOfMemoryError as error:
        raise MemoryError("the model's weights do not fit into memory") from error


def make_tensor_decoder(
    model: Transformer,
    backend: str,
    control_ids: Sequence[int],
    capacity: Capacity,
    sizes: SearchSizes,
    tokens: SearchTokens,
    utf8: Utf8Tables | None,
    heads: Sequence[AttentionHead],
) -> TensorDecoder:
    """The decoder of a backend other than "native". Raises MemoryError if it does not fit."""
    device = make_device(model.device)
    with device.in_use():
        is_recorded = backend == "graphs"
        try:
            network = EagerNetwork(model, control_ids, capacity, is_recorded)
        except torch.OutOfMemoryError as error:
            raise MemoryError("the model's weights and caches do not fit into memory") from error
        search = Search(sizes, tokens, network.device, utf8)
        if not is_recorded:
            return TensorDecoder(device, network, search, Step(network, search), heads)
        recorder = CudaRecorder(network.device) if network.device.type == "cuda" else None
        network.record_encodings(recorder)
        kernels = search_kernels(search, network.rows, model.config.tgt_vocab_size)
        step = GraphedStep(network, search, capacity, recorder, kernels)
        return TensorDecoder(device, network, search, step, heads)


def _by_length(
    batch: list[tuple[int, SourceSentence]],
) -> Iterator[list[tuple[int, SourceSentence]]]:
    """Split into batches of similar length, to limit padding."""
    batch = sorted(batch, key=lambda item: len(item[1].ids))
    start = 0
    for end in range(1, len(batch) + 1):
        is_last = end == len(batch)
        if is_last or (end + 1 - start) * len(batch[end][1].ids) > _MAX_ENCODE_TOKENS:
            yield batch[start:end]
            start = end
