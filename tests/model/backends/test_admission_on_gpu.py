"""What an admission asks of a GPU: one copy from the host.

Tensors lie on another device than the CPU and have no numbers; see `test_step_on_gpu`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from model.backends.torch_eager import EagerNetwork
from model.decoding import transfer
from model.decoding.network_interface import Capacity
from model.decoding.options import DecodingOptions
from model.decoding.search import Search
from model.decoding.search_sizes import SearchSizes, SearchTokens
from model.decoding.sentence import SourceSentence, Term, TermForm
from model.decoding.transfer import Transfer
from model.network.config import ModelConfig
from model.network.transformer import Transformer
from tests.model.backends.test_step_on_gpu import DEVICE, SHAPES, Operations, moved


class Admission(NamedTuple):
    """Operations and copies from the host."""

    encoding: int
    others: int
    num_sent: int
    on_cpu: list[str]


def admission_of(
    config: ModelConfig, sentences: Sequence[SourceSentence], monkeypatch: pytest.MonkeyPatch
) -> Admission:
    sent: list[NDArray[np.uint8]] = []

    def to_device(values: NDArray[np.uint8], device: torch.device) -> Tensor:
        sent.append(values)
        return torch.empty(values.shape, dtype=torch.uint8, device=device)

    monkeypatch.setattr(transfer, "to_device", to_device)
    capacity = Capacity(64, 256, 128, min(256, config.max_positions))
    slots = range(len(sentences))
    with torch.inference_mode(), FakeTensorMode():
        network = EagerNetwork(moved(Transformer(config)), [0, 1, 2], capacity, True)
        sizes = SearchSizes(64, 16, capacity.max_target_tokens)
        search = Search(sizes, SearchTokens(3, 0), DEVICE)
        parts = [Transfer(DEVICE) for _ in range(3)]
        network.encode(slots, [sentence.ids for sentence in sentences], parts[0])
        for part in parts[1:]:
            network.clear(slots, range(4 * len(slots)), part)
            if part is parts[2]:
                network.encode(slots, [sentence.ids for sentence in sentences], part)
            search.admit(slots, sentences, [30] * len(slots), 2, part)
        counts, on_cpu = [], []
        for part in parts:
            sent.clear()
            with Operations() as operations:
                part.run()
            counts.append(sum(operations.counts.values()))
            on_cpu += operations.on_cpu
    assert counts[2] == counts[0] + counts[1]
    return Admission(counts[0], counts[1], len(sent), on_cpu)


def some_sentences(**more: Any) -> list[SourceSentence]:
    options = DecodingOptions(beam_size=4)
    return [SourceSentence([5] * n + [3], options, prefix=(5,), **more) for n in (3, 9, 20)]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_admission_is_one_copy_and_needs_nothing_on_the_cpu(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    admission = admission_of(SHAPES[shape], some_sentences(), monkeypatch)
    assert (admission.num_sent, admission.on_cpu) == (1, [])


def test_terms_travel_in_the_same_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = (Term((TermForm((9, 11)), TermForm((9, 12)))), Term((TermForm((14,)),), times=2))
    sentences = some_sentences(terms=terms)
    admission = admission_of(SHAPES["wmt12-1"], sentences, monkeypatch)
    assert (admission.num_sent, admission.on_cpu) == (1, [])


def test_terms_of_many_sentences_take_as_many_operations_as_those_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of different numbers of terms, forms and tokens, and of a sentence without any."""
    pairs = (
        Term((TermForm((9, 11)), TermForm((9, 12)))),
        Term((TermForm((14,)),), times=2),
        Term((TermForm((5, 6, 7)),)),
    )
    options = DecodingOptions(beam_size=4)
    many = [SourceSentence([5, 3], options, prefix=(5,), terms=pairs[:n]) for n in (1, 3, 0, 2) * 4]
    one, all_of_them = (
        admission_of(SHAPES["wmt12-1"], sentences, monkeypatch) for sentences in (many[:1], many)
    )
    assert all_of_them.others == one.others
