"""The fused search step against the plain one, on random candidates, for all options."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from model.backends.fused.search import AdvancingSearch
from model.decoding.network_interface import RowCandidates, RowTable
from model.decoding.options import DecodingOptions
from model.decoding.search import Search
from model.decoding.search_sizes import SearchSizes, SearchTokens
from model.decoding.search_state import Status
from model.decoding.sentence import SourceSentence
from model.decoding.utf8 import Utf8Tables
from tests.model.network.reference import start

EOS, V, LONGEST = 3, 40, 40
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy computes the kernels
CPU = torch.device("cpu")
NEVER = float("-inf")


class Crowd(NamedTuple):
    """Sentences of the slots, and the table of their rows."""

    sentences: list[SourceSentence]
    limits: list[int]
    table: RowTable


def random_options(rng: random.Random) -> DecodingOptions:
    if rng.random() < 0.15:
        return DecodingOptions(beam_size=1, sampling=True, seed=rng.randint(0, 9))
    beam_size = rng.choice([1, 2, 3, 4, 5, 8])
    return DecodingOptions(
        beam_size=beam_size,
        n_best=rng.randint(1, beam_size),
        length_penalty=rng.choice([0.0, 0.6, 1.0, 1.3]),
        normalization=rng.choice(["wu", "average"]),
        lookahead=rng.choice([None, 0, 3]),
    )


def random_crowd(rng: random.Random) -> Crowd:
    sentences = [
        SourceSentence(
            [5, EOS],
            random_options(rng),
            prefix=(7,) if rng.random() < 0.3 else (),
            is_cut=rng.random() < 0.2,
        )
        for _ in range(rng.randint(1, 4))
    ]
    sizes = [sentence.options.beam_size for sentence in sentences]
    width, firsts = max(sizes), [sum(sizes[:i]) for i in range(len(sizes))]
    by_slot = [
        [first + (beam if beam < size else 0) for beam in range(width)]
        for first, size in zip(firsts, sizes, strict=True)
    ]
    owners = [(slot, beam) for slot, size in enumerate(sizes) for beam in range(size)]
    slots, beams = torch.tensor(owners).t().contiguous()
    members, rows = torch.arange(len(sizes)), torch.arange(len(owners))
    table = RowTable(torch.tensor(by_slot), slots, beams, members, rows, rows[:0])
    return Crowd(sentences, [rng.choice([2, 6, LONGEST]) for _ in sentences], table)


def random_candidates(crowd: Crowd, rng: random.Random, numbers: torch.Generator) -> RowCandidates:
    """As of a network: distinct tokens, best first; some rows end, repeat, sample or overflow."""
    n_rows, count = len(crowd.table.rows), min(2 * crowd.table.by_slot.size(1), V)
    scores, tokens = torch.randn(n_rows, V, generator=numbers).log_softmax(1).sort(descending=True)
    scores, tokens = scores[:, :count].contiguous(), tokens[:, :count].contiguous()
    for row, slot in enumerate(crowd.table.slots.tolist()):
        kind = rng.random()
        if kind < 0.5:  # ends seldom
            tokens[row] = tokens[row].where(tokens[row] != EOS, 9)
        if crowd.sentences[slot].options.sampling:
            scores[row, 1:] = NEVER
    is_failed = torch.rand(n_rows, generator=numbers) < 0.005
    scores[is_failed] = float("nan")
    return RowCandidates(scores, tokens, is_failed)


def started(kind: type[Search], crowd: Crowd, utf8: Utf8Tables | None) -> Search:
    search = kind(SearchSizes(6, 8, LONGEST), SearchTokens(EOS, 0), CPU, utf8)
    start(search, crowd.sentences, crowd.limits)
    return search


def real(search: Search, crowd: Crowd) -> list[Tensor]:
    """What the state says of hypotheses that exist."""
    count = len(crowd.sentences)
    columns = torch.arange(LONGEST)
    shown = [search.length[:count], search.status[:count], search.is_stuck[:count]]
    is_fine = search.status[:count] != Status.FAILED.value
    for group, is_live in ((search.live, True), (search.finished, False)):
        score = group.score[:count].where(is_fine[:, None], 0.0)
        is_real = (score > NEVER) & is_fine[:, None]
        length = search.length[:count, None].expand_as(score) if is_live else group.length[:count]
        is_token = is_real[..., None] & (columns < length[..., None])
        shown += [score, length.where(is_real, 0)]
        shown += [group.tokens[:count].where(is_token, 0)]
        shown += [group.log_probs[:count].where(is_token, 0.0)]
        if is_live:
            shown += [
                search.last[:count].where(is_real, 0),
                search.spelling[:count].where(is_real, 0),
            ]
    return shown


def rows_that_live(search: Search, table: RowTable) -> Tensor:
    has_failed = search.status[table.slots] == Status.FAILED.value
    return (search.live.score[table.slots, table.beams] > NEVER) & ~has_failed


def assert_alike(plain: Search, fused: Search, crowd: Crowd) -> None:
    for ours, theirs in zip(real(fused, crowd), real(plain, crowd), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("seed", range(6))
def test_hypotheses_of_a_random_crowd_are_extended_alike(seed: int) -> None:
    rng, numbers = random.Random(seed), torch.Generator().manual_seed(seed)
    crowd = random_crowd(rng)
    utf8 = Utf8Tables.of({20: 0x41, 21: 0xC3, 22: 0xA9}, V, CPU) if seed % 2 else None
    plain, fused = (started(kind, crowd, utf8) for kind in (Search, AdvancingSearch))
    for length in range(1, 9):
        candidates = random_candidates(crowd, rng, numbers)
        expected = plain.advance(
            RowCandidates(*map(torch.clone, candidates[:3])), crowd.table, length
        )
        found = fused.advance(candidates, crowd.table, length)
        assert_alike(plain, fused, crowd)
        is_real = rows_that_live(fused, crowd.table)
        assert torch.equal(found[is_real], expected[is_real])
        shown = fused.streamed(crowd.table, length)
        for ours, theirs in zip(shown, Search.streamed(fused, crowd.table, length), strict=True):
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize("seed", range(3))
def test_loops_are_noticed_alike(seed: int) -> None:
    """Late in sentences that repeat one to seven tokens, of which seven are no loop."""
    rng, numbers = random.Random(seed), torch.Generator().manual_seed(seed)
    crowd = random_crowd(rng)
    plain, fused = (started(kind, crowd, None) for kind in (Search, AdvancingSearch))
    periods = [rng.choice([1, 2, 6, 7]) for _ in crowd.sentences]
    for search in (plain, fused):
        for slot, period in enumerate(periods):
            search.live.tokens[slot] = 10 + torch.arange(LONGEST) % period
        search.length[: len(periods)] = 27
    for length in range(28, 30):
        candidates = random_candidates(crowd, rng, numbers)
        for place, slot in enumerate(crowd.table.slots.tolist()):
            candidates.tokens[place, 0] = 10 + (length - 1) % periods[slot]
        plain.advance(RowCandidates(*map(torch.clone, candidates[:3])), crowd.table, length)
        fused.advance(candidates, crowd.table, length)
        assert_alike(plain, fused, crowd)


def test_padding_of_a_recording_changes_no_live_slot() -> None:
    """A table is longer than the crowd: what is beyond it names live rows, as after a recording."""
    rng, numbers = random.Random(5), torch.Generator().manual_seed(5)
    crowd = random_crowd(rng)
    plain, fused = (started(kind, crowd, None) for kind in (Search, AdvancingSearch))
    by_slot, n_rows = crowd.table.by_slot, len(crowd.table.rows)
    padded = crowd.table._replace(by_slot=torch.cat([by_slot, torch.zeros_like(by_slot[:1])]))
    for length in range(1, 5):
        candidates = random_candidates(crowd, rng, numbers)
        expected = plain.advance(RowCandidates(*map(torch.clone, candidates[:3])), padded, length)
        found = fused.advance(candidates, padded, length)
        assert_alike(plain, fused, crowd)
        is_real = rows_that_live(fused, crowd.table)
        assert torch.equal(found[:n_rows][is_real], expected[is_real])
