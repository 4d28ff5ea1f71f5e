"""Steps of the fused layers against those of the plain network: random crowds, reordered."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from model.backends.cuda_graphs import GraphedStep
from model.backends.fast_paths import FUSED_PATHS
from model.backends.fused.network import FusedNetwork
from model.backends.recorded_shapes import RecordedShape
from model.backends.torch_eager import EagerNetwork
from model.decoding.network_interface import Capacity, RowTable, StepShape
from model.decoding.slot_allocator import Compaction
from model.decoding.slot_options import Features
from tests.model.network.reference import CONTROL_IDS, EOS, encode, tiny_model, tiny_runner
from tests.model.test_runner import VARIANTS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy computes the kernels
CAPACITY = Capacity(max_slots=3, max_rows=6, max_source_tokens=40, max_target_tokens=48)
SOURCES = [[5, 7, EOS], [*[8, 9, 11] * 12, EOS]]


def table_of(rows_of_slots: list[list[int]]) -> RowTable:
    """`rows_of_slots`: the rows of each slot's hypotheses, padded with the first."""
    owners = {
        row: (slot, rows.index(row)) for slot, rows in enumerate(rows_of_slots) for row in rows
    }
    slots, beams = torch.tensor([owners[row] for row in sorted(owners)]).t().contiguous()
    places, members = torch.arange(len(owners)), torch.arange(len(rows_of_slots))
    return RowTable(torch.tensor(rows_of_slots), slots, beams, members, places, places[:0])


def networks(**variant: object) -> list[EagerNetwork]:
    """Both with the same weights, and with NaN wherever nothing of the sentences stands."""
    kinds = (EagerNetwork, FusedNetwork)
    both = [kind(tiny_model(seed=2, **variant), CONTROL_IDS, CAPACITY, True) for kind in kinds]
    for store in (both[1]._rows.keys, both[1]._rows.values, both[1]._memory.values):
        store.fill_(float("nan"))
    for network in both:
        encode(network, [0, 1], SOURCES)
    return both


def logits_of(network: EagerNetwork, tokens: Tensor, places: Tensor, table: RowTable) -> Tensor:
    network.step(tokens, places, table, StepShape(48, 40))
    return network.logits()


@torch.inference_mode()
@pytest.mark.parametrize("variant", [*VARIANTS, {"d_model": 24, "n_heads": 2, "norm": "pre"}])
def test_histories_that_change_rows_give_the_same_logits(variant: dict[str, object]) -> None:
    rng, numbers = random.Random(1), torch.Generator().manual_seed(1)
    plain, fused = networks(**variant)
    table = table_of([[0, 1, 3], [2, 2, 2]])
    for length in range(4):
        tokens = torch.randint(4, 13, (4,), generator=numbers)
        places = torch.tensor([length, length, length + 1, length])  # one sentence is older
        if length == 0:
            for network in (plain, fused):  # its first position
                logits_of(network, tokens, torch.zeros_like(places), table)
        expected = logits_of(plain, tokens, places, table)
        torch.testing.assert_close(logits_of(fused, tokens, places, table), expected)
        sources = torch.tensor([rng.choice([0, 1, 3]) for _ in range(4)])
        sources[2] = 2
        for network in (plain, fused):
            network.reorder(sources, 48)


@torch.inference_mode()
def test_histories_stay_with_sentences_that_move() -> None:
    """After slot 0 has left, the rows of slot 1 fill its places, and a new sentence comes."""
    plain, fused = networks()
    table = table_of([[0, 1], [2, 3]])
    for length in range(3):
        tokens, places = torch.tensor([5, 6, 7, 8]), torch.full((4,), length)
        for network in (plain, fused):
            logits_of(network, tokens, places, table)
            network.reorder(torch.tensor([1, 0, 3, 3]), 48)
    for network in (plain, fused):
        network.move(Compaction([(0, 2), (1, 3)], [(0, 1)]))
        network.clear_places(torch.tensor([1]), torch.tensor([2, 3]))
        encode(network, [1], [[9, 4, EOS]])
    table = table_of([[0, 1], [2, 3]])
    tokens, places = torch.tensor([9, 4, 5, 5]), torch.tensor([3, 3, 0, 0])
    expected = logits_of(plain, tokens, places, table)
    torch.testing.assert_close(logits_of(fused, tokens, places, table), expected)


def test_two_networks_of_a_model_share_their_weights() -> None:
    model = tiny_model()
    before = {name: weight.clone() for name, weight in model.weights.items()}
    first, second = (FusedNetwork(model, CONTROL_IDS, CAPACITY, True) for _ in range(2))
    for ours, others in zip(first._projections, second._projections, strict=True):
        for one, other in zip(ours, others, strict=True):
            assert one.data_ptr() == other.data_ptr()
    for name, weight in model.weights.items():
        assert torch.equal(weight, before[name])


def test_recordings_of_fused_steps_serve_sources_of_any_length_and_prefixes() -> None:
    runner = tiny_runner(tiny_model(), backend="graphs", fast_paths=FUSED_PATHS)
    plain = tiny_runner(tiny_model(), backend="graphs")
    kind = Features(False, False, False, False, 0, 0)
    for prefix, guards, num_fused in ((True, False, 1), (False, True, 2)):
        shapes = [
            RecordedShape(1, 1, 1, 0, StepShape(32, source), features)
            for source, features in (
                (16, kind),
                (32, kind._replace(has_prefix=prefix, has_guards=guards)),
            )
        ]
        for owner, count in ((runner, num_fused), (plain, 2)):
            assert isinstance(owner._step, GraphedStep)
            assert len(set(map(owner._step._common, shapes))) == count
