"""The kernels of a GPU do what the PyTorch operations do. They run on the CPU here, where a GPU
runs them as they are (tests/model/backends/test_gpu.py)."""

from __future__ import annotations

import dataclasses
import random
from types import SimpleNamespace

import pytest
import torch

from model.backends.pytorch import decoder, kernels
from model.backends.pytorch.cache import RowCache
from model.backends.pytorch.kernels import SearchKernels
from model.backends.pytorch.rows import RowCandidates, RowTable, likeliest
from model.backends.pytorch.search import Search
from model.backends.pytorch.search_state import SearchState
from model.decoding.options import DecodingOptions
from model.decoding.search_rules import LOOP_SPAN, SearchSizes, SearchTokens, Status
from model.decoding.sentence import SourceSentence
from tests.model.backends.kernels_on_cpu import CpuLauncher
from tests.model.network.reference import (
    EOS,
    VARIANTS,
    assert_same,
    run_at_random,
    run_to_end,
    start,
    tiny_model,
    tiny_runner,
)
from tests.model.test_runner import mixed_sentences, texts

ALL = {"rank", "advance", "reorder"}


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> CpuLauncher:
    """Recorded steps use the kernels."""
    launcher = CpuLauncher()

    def on_cpu(search: SearchState, rows: RowCache, vocabulary: int) -> SearchKernels:
        return SearchKernels(search, rows, vocabulary, launcher)

    monkeypatch.setattr(decoder, "search_kernels", on_cpu)
    return launcher


def kernels_for(
    width: int, rows: int, vocabulary: int, threads: int = 7
) -> tuple[SearchKernels, RowTable]:
    """Kernels of so many threads a block, and a table of rows of one width."""
    slots = rows // width
    search = Search(SearchSizes(slots, width, 30), SearchTokens(EOS, 0), torch.device("cpu"))
    cache = RowCache(tiny_model().config, rows, 30, torch.zeros(1))
    places = torch.arange(rows)
    by_slot = places.view(slots, width)
    members = places[:slots]
    table = RowTable(by_slot, places // width, places % width, members, places, places[:0])
    return SearchKernels(search, cache, vocabulary, CpuLauncher(threads)), table


@pytest.mark.parametrize(
    ("width", "vocabulary"), [(1, 3), (1, 9000), (3, 40), (4, 13000), (16, 50)]
)
def test_rows_are_ranked_as_by_pytorch(width: int, vocabulary: int) -> None:
    """In one part and in several; rows are apart by more than their tokens."""
    kernels, table = kernels_for(width, 2 * width, vocabulary)
    torch.manual_seed(width)
    logits = torch.randn(2 * width, vocabulary + 3)[:, :vocabulary]
    logits[:, ::5] = float("-inf")
    expected, found = likeliest(logits.clone(), 2 * width), kernels.rank(logits, table)
    count = min(2 * width, vocabulary, int(logits[0].isfinite().sum()))
    torch.testing.assert_close(found.log_probs[:, :count], expected.log_probs[:, :count])
    assert found.tokens[:, :count].equal(expected.tokens[:, :count])
    assert not found.is_failed.any()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_row_fails_if_its_scores_are_not_finite(bad: float) -> None:
    kernels, table = kernels_for(2, 4, 9000)
    logits = torch.zeros(4, 9000)
    logits[1, 4321] = bad
    logits[3] = float("-inf")
    assert kernels.rank(logits, table).is_failed.tolist() == [False, True, False, True]


@pytest.mark.parametrize("error", [ImportError("no cuda"), RuntimeError("no compiler\nat all")])
def test_where_kernels_cannot_be_compiled_a_warning_says_so_and_there_are_none(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known, _ = kernels_for(1, 1, 13)

    def fail(device: torch.device, widest: int) -> None:
        raise error

    monkeypatch.setattr(kernels, "CudaLauncher", fail)
    monkeypatch.setattr(known._search, "length", SimpleNamespace(device=torch.device("cuda")))
    assert kernels.search_kernels(known._search, known._rows, 13) is None
    first_line = str(error).partition("\n")[0]
    assert [record.message.rpartition(": ")[2] for record in caplog.records] == [first_line]


@pytest.mark.parametrize("variant", VARIANTS)
def test_mixed_sentences_translate_as_without_kernels(
    variant: dict[str, object], launcher: CpuLauncher
) -> None:
    """Where nobody samples the kernels rank too."""
    model, mixed = tiny_model(seed=6, **variant), mixed_sentences(14, seed=1)
    for sentences in (mixed, [one for one in mixed if not one.options.sampling]):
        expected = run_to_end(tiny_runner(model, backend="eager"), sentences)
        assert_same(run_to_end(tiny_runner(model, backend="graphs"), sentences), expected, 1e-4)
    assert launcher.names == ALL


@pytest.mark.parametrize("seed", range(2))
def test_who_joins_leaves_or_is_streamed_at_any_step_translates_as_alone(
    seed: int, launcher: CpuLauncher
) -> None:
    model, rng = tiny_model(seed=seed), random.Random(seed)
    sentences = [
        dataclasses.replace(sentence, is_streamed=rng.random() < 0.3)
        for sentence in mixed_sentences(16, seed)
    ]
    one = tiny_runner(model, backend="eager")
    alone = [run_to_end(one, [sentence])[0] for sentence in sentences]
    runner = tiny_runner(model, max_slots=6, max_rows=20, backend="graphs")
    run = run_at_random(runner, sentences, rng, streamed=0.2, abandoned=0.05)
    for index, result in run.results.items():
        assert texts([result]) == texts([alone[index]])
    assert launcher.names == ALL


def test_beams_that_the_kernels_do_not_know_come_and_go_beside_others(
    launcher: CpuLauncher,
) -> None:
    """A step with a beam of 20 is PyTorch's, and the next one the kernels' again."""
    model, rng = tiny_model(vocab_size=60, seed=3), random.Random(3)
    sizes = [20 if n in (5, 11) else (1, 4, 2)[n % 3] for n in range(16)]
    sentences = [
        SourceSentence([5 + n, 7, EOS], DecodingOptions(beam_size=size, max_length=9))
        for n, size in enumerate(sizes)
    ]
    one = tiny_runner(model, backend="eager")
    alone = [run_to_end(one, [sentence])[0] for sentence in sentences]
    run = run_at_random(tiny_runner(model, 4, 30, backend="graphs"), sentences, rng)
    assert texts([run.results[n] for n in sorted(run.results)]) == texts(alone)
    assert launcher.names == ALL


def test_bytes_make_characters_and_pieces_are_copied(launcher: CpuLauncher) -> None:
    """Tokens 4 to 9 are bytes, 10 is copied if the source has 11, and 12 never."""
    options = [DecodingOptions(beam_size=size, max_length=30) for size in (1, 2, 4, 6)]
    sentences = [
        SourceSentence([5, 7, *[11] * (n % 2), EOS], options[n % 4], prefix=(4, 12) * (n % 3 == 2))
        for n in range(12)
    ]
    bytes_of = dict(zip(range(4, 10), (0xE5, 0x9B, 0xBE, 0x41, 0xC3, 0xA9), strict=True))
    copied = {10: 11, 12: None}
    for seed in range(6):
        runners = [
            tiny_runner(
                tiny_model(seed=seed),
                backend=backend,
                byte_ids=bytes_of,
                copied_ids=copied,
            )
            for backend in ("eager", "graphs")
        ]
        expected, found = (run_to_end(runner, sentences) for runner in runners)
        assert_same(found, expected, 1e-4)


@pytest.mark.parametrize("beam_size", [1, 3, 8])
@torch.inference_mode()
def test_threads_of_a_block_advance_and_reorder_as_pytorch_does(beam_size: int) -> None:
    """Random offers, until the searches are over. Every row keeps its past tokens as its keys."""
    kernels, table = kernels_for(beam_size, 5 * beam_size, 20)
    ours, rows = kernels._search, kernels._rows
    assert isinstance(ours, Search)
    theirs = Search(SearchSizes(5, beam_size, 30), SearchTokens(EOS, 0), torch.device("cpu"))
    theirs_rows = RowCache(tiny_model().config, 5 * beam_size, 30, torch.zeros(1))
    options = DecodingOptions(beam_size=beam_size, n_best=beam_size, max_length=25)
    for search in (ours, theirs):
        start(search, [SourceSentence([5, EOS], options)] * 5, [25, 1, 9, 25, 25])
    generator = torch.Generator().manual_seed(beam_size)
    for length in range(1, 27):
        offers = random_offers(len(table.rows), 2 * beam_size, generator)
        new = torch.rand(rows.keys[:, :, :, 0].shape, generator=generator)
        for cache in (rows, theirs_rows):
            cache.keys[:, :, :, length - 1] = cache.values[:, :, :, length - 1] = new
        sources = theirs.advance(offers, table, length)
        theirs_rows.copy(torch.arange(len(sources)), sources, length)
        kernels.reorder(kernels.advance(offers, table), table)
        assert ours.status.equal(theirs.status)
        for slot in (ours.status == Status.RUNNING).nonzero().flatten().tolist():
            torch.testing.assert_close(ours.live.score[slot], theirs.live.score[slot])
            assert ours.last[slot].equal(theirs.last[slot])
            for name in ("tokens", "log_probs"):
                mine, other = (getattr(s.live, name)[slot, :, :length] for s in (ours, theirs))
                assert mine.equal(other)
            own = table.by_slot[slot]
            assert rows.keys[:, own, :, :length].equal(theirs_rows.keys[:, own, :, :length])
    limits = [25, 1, 9, 25, 25]
    found, expected = (s.results(range(5), limits, beam_size).wait() for s in (ours, theirs))
    assert [[h.ids for h in one] for one in found] == [[h.ids for h in one] for one in expected]


@torch.inference_mode()
def test_a_loop_ends_a_search_whatever_thread_finds_it() -> None:
    """The same token again and again has every period."""
    kernels, table = kernels_for(2, 10, 20)
    options, search = DecodingOptions(beam_size=2, max_length=29), kernels._search
    assert isinstance(search, Search)
    start(search, [SourceSentence([5, EOS], options)] * 5, [29] * 5)
    log_probs = -torch.arange(1.0, 5.0).expand(10, 4).contiguous()
    offers = RowCandidates(
        log_probs, torch.arange(5, 9).expand(10, 4).contiguous(), no_failures(10)
    )
    for length in range(1, LOOP_SPAN + 2):
        assert search.status.tolist() == [Status.RUNNING] * 5
        kernels.advance(offers, table)
        assert search.is_stuck.tolist() == [length >= LOOP_SPAN] * 5
    assert search.status.tolist() == [Status.DONE] * 5


def random_offers(rows: int, count: int, generator: torch.Generator) -> RowCandidates:
    """Any tokens of 20, best first; sometimes the end of the sentence."""
    log_probs = -torch.rand(rows, count, generator=generator).cumsum(1)
    tokens = torch.stack([torch.randperm(20, generator=generator)[:count] for _ in range(rows)])
    return RowCandidates(log_probs, tokens, no_failures(rows))


def no_failures(rows: int) -> torch.Tensor:
    return torch.zeros(rows, dtype=torch.bool)
