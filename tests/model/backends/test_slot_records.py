"""Sentences are admitted, moved and read in few operations, which copy all that a slot holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from model.backends.pytorch.cache import MemoryCache, RowCache
from model.backends.pytorch.decoder import TensorDecoder
from model.backends.pytorch.search_state import SearchState
from model.backends.pytorch.slot_records import SlotRecords
from model.decoding.options import DecodingOptions
from model.decoding.search_rules import SearchSizes, SearchTokens
from model.decoding.sentence import Hypothesis, SourceSentence
from model.decoding.slot_allocator import Compaction
from tests.model.network.reference import BOS, EOS, start, tiny_model, tiny_runner

CPU = torch.device("cpu")
SIZES = [SearchSizes(9, 3, 7), SearchSizes(8, 1, 1), SearchSizes(8, 16, 40)]
PREFIX = (5, 6)


class Launches(TorchDispatchMode):
    """Notes the operations that are not views: on a GPU each one is launched."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if not function.is_view:
            self.names.append(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


def launches(work: Callable[[], object]) -> list[str]:
    with torch.inference_mode(), Launches() as noted:
        work()
    return noted.names


def tiny_decoder() -> TensorDecoder:
    decoder = tiny_runner(tiny_model(), backend="eager")._decoder
    assert isinstance(decoder, TensorDecoder)
    return decoder


def sentences(count: int, prefix: tuple[int, ...] = ()) -> list[SourceSentence]:
    return [SourceSentence([5, 7, EOS], DecodingOptions(beam_size=4), prefix=prefix)] * count


@pytest.mark.parametrize(("prefix", "expected"), [((), 1), (PREFIX, 2)])
@pytest.mark.parametrize("count", [1, 8])
def test_a_search_begins_in_one_operation_and_one_for_prefixes(
    count: int, prefix: tuple[int, ...], expected: int
) -> None:
    search = SearchState(SearchSizes(8, 4, 20), SearchTokens(EOS, 0, {9: 8}), CPU)
    given = sentences(count, prefix)
    assert len(launches(lambda: start(search, given, [20] * count))) == expected


def test_an_admission_launches_as_much_for_one_sentence_as_for_eight() -> None:
    """Its two caches are cleared, and written with the lengths, in four operations."""

    def admit(count: int) -> list[str]:
        decoder, rows = (
            tiny_decoder(),
            [list(range(4 * n, 4 * n + 4)) for n in range(count)],
        )
        given = sentences(count)
        return launches(lambda: decoder.admit(range(count), rows, given, [20] * count))

    one, eight = admit(1), admit(8)
    assert one == eight
    assert one.count("index_fill_") == 2
    assert one.count("index_copy_") == 3


@pytest.mark.parametrize("count", [1, 7])
def test_a_move_reads_and_writes_once_each_cache_the_lengths_and_the_searches(count: int) -> None:
    moves = Compaction([(n, 20 + n) for n in range(4 * count)], [(n, 8 + n) for n in range(count)])
    decoder = tiny_decoder()
    names = launches(lambda: decoder.move(moves))
    assert names == ["index_select", "index_copy_"] * 4


@pytest.mark.parametrize("n_best", [1, 4])
@pytest.mark.parametrize("count", [1, 8])
def test_results_are_read_in_one_operation(count: int, n_best: int) -> None:
    search = SearchState(SearchSizes(8, 4, 20), SearchTokens(EOS, 0), CPU)
    read = launches(lambda: search.results(range(count), [20] * count, n_best))
    assert read == ["index_select"]


def fields_of(records: SlotRecords) -> list[Tensor]:
    """All that a slot holds."""
    hypotheses = (*records.live.values(), *records.finished.values())
    return [*records.head.values(), *hypotheses, records.prefix]


def fill(tensors: list[Tensor], seed: int) -> list[Tensor]:
    """Write random numbers -> copies of them."""
    generator = torch.Generator().manual_seed(seed)
    for tensor in tensors:
        numbers = torch.randint(-1000, 1000, tensor.shape, generator=generator)
        tensor.copy_(numbers % 2 if tensor.dtype == torch.bool else numbers)
    return [tensor.clone() for tensor in tensors]


def assert_moved(
    tensors: list[Tensor], before: list[Tensor], targets: Tensor, sources: Tensor
) -> None:
    """Dimension 0 is what moves."""
    for tensor, old in zip(tensors, before, strict=True):
        expected = old.index_copy(0, targets, old[sources])
        assert tensor.equal(expected)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("n_copied", [0, 5])
def test_a_slot_takes_over_all_that_another_holds(sizes: SearchSizes, n_copied: int) -> None:
    """And no field lies on another, or a write to it changes what the other had."""
    records = SlotRecords(sizes, n_copied, CPU)
    fields = fields_of(records)
    before = fill(fields, seed=n_copied)
    assert all(field.equal(old) for field, old in zip(fields, before, strict=True))
    assert all(field.data_ptr() % 16 == 0 for field in fields if field.numel())
    targets, sources = torch.tensor([1, 6, 0]), torch.tensor([4, 2, 7])
    records.copy(targets, sources)
    assert_moved(fields, before, targets, sources)


def test_rows_and_memory_take_over_all_that_others_hold() -> None:
    """Of the positions that were written."""
    config, like = tiny_model().config, torch.zeros(1)
    targets, sources = torch.tensor([1, 6, 0]), torch.tensor([4, 2, 7])
    rows, memory = RowCache(config, 8, 12, like), MemoryCache(config, 8, 12, like)
    for cache in (rows, memory):
        cache.num_written = 9
        written = [store[:, :, :, :9].transpose(0, 1) for store in (cache.keys, cache.values)]
        tensors = [*written, memory.lengths]
        before = fill(tensors, seed=3)
        cache.move(targets, sources)
        moved = tensors if cache is memory else written
        assert_moved(moved, before[: len(moved)], targets, sources)
        assert not cache.keys[:, :, :, 9:].any()
        cache.clear(targets)
        kept = torch.tensor([2, 3, 4, 5, 7])
        for tensor, old in zip(written, before, strict=False):
            assert not tensor[targets].any()
            assert tensor[kept].equal(old[kept])


def test_a_search_that_begins_finds_nothing_of_an_earlier_one() -> None:
    """In any slot, and its neighbours keep what they have."""
    sizes, tokens = SearchSizes(6, 3, 9), SearchTokens(EOS, 0, {9: 8, 10: None, 11: 7})
    used, fresh = (SearchState(sizes, tokens, CPU) for _ in range(2))
    options = DecodingOptions(beam_size=3, n_best=2, length_penalty=0.5, seed=2**63 - 1, top_p=0.25)
    given = [
        SourceSentence([8, 7, EOS], options, prefix=(5,)),
        SourceSentence([6, EOS], options, is_cut=True, prefix=PREFIX),
    ]
    before = fill(fields_of(used._records), seed=1)
    for search in (used, fresh):
        start(search, given, [9, 4])
    for field, old in zip(fields_of(used._records), before, strict=True):
        assert field[2:].equal(old[2:])
    for name, field in used._records.head.items():
        assert field[:2].equal(fresh._records.head[name][:2])
    assert used.options.seed[:2].tolist() == [2**63 - 1] * 2
    assert used.options.limit[:2].tolist() == [9, 4]
    assert used.options.top_p[:2].tolist() == [0.25] * 2
    assert used.options.is_cut[:2].tolist() == [False, True]
    assert used.prefix[:2, :2].tolist() == [[5, 0], [5, 6]]
    assert used.last[:2].tolist() == [[BOS] * 3] * 2
    assert used.live.score[0].tolist() == [0.0, -np.inf, -np.inf]
    assert used.finished.score[:2].isneginf().all()
    assert used.is_held[:2].tolist() == [[True, False, True], [False] * 3]


@pytest.mark.parametrize("sizes", SIZES)
def test_results_are_what_the_searches_found(sizes: SearchSizes) -> None:
    search = SearchState(sizes, SearchTokens(EOS, 0), CPU)
    found, beam, most = search.finished, sizes.max_beam, sizes.max_length
    fill([found.tokens, found.log_probs], seed=most)
    found.tokens.abs_().add_(EOS + 1)
    found.score.copy_(-torch.arange(float(beam)).expand_as(found.score))
    found.length.fill_(most)
    found.score[5, 0] = -np.inf
    slots = [7, 5, 0]
    for n_best in {1, beam}:
        results = search.results(slots, [most] * 3, n_best).wait()
        for slot, ranked in zip(slots, results, strict=True):
            expected = [hypothesis_of(search, slot, rank) for rank in range(n_best)]
            assert ranked == ([] if slot == 5 else expected)


def hypothesis_of(search: SearchState, slot: int, rank: int) -> Hypothesis:
    found = search.finished
    tokens, log_probs = found.tokens[slot, rank].tolist(), found.log_probs[slot, rank].tolist()
    return Hypothesis(tokens, log_probs, float(-rank), "length")
