"""The law of the compiled search: step by step it is in the state that the tensors are in."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from model.backends.pytorch.rows import RowCandidates, RowTable
from model.backends.pytorch.search import Search
from model.decoding.options import DecodingOptions
from model.decoding.search_rules import SearchSizes, SearchTokens, Status
from model.decoding.sentence import SourceSentence
from tests.model.backends.native.stepped import SteppedSearch
from tests.model.network.reference import EOS, start

OPTIONS = [
    DecodingOptions(beam_size=4, n_best=3, length_penalty=0.6, normalization="wu"),
    DecodingOptions(beam_size=1),
    DecodingOptions(beam_size=3, lookahead=None),
    DecodingOptions(beam_size=2, n_best=2, length_penalty=0.0),
]
LIMITS = [9, 40, 40, 14]
TABLE = RowTable(
    torch.tensor([[0, 1, 2, 3], [4] * 4, [5, 6, 7, 5], [8, 9, 8, 8]]),
    slots=torch.tensor([0, 0, 0, 0, 1, 2, 2, 2, 3, 3]),
    beams=torch.tensor([0, 1, 2, 3, 0, 0, 1, 2, 0, 1]),
    members=torch.arange(4),
    rows=torch.arange(10),
    drawn=torch.empty(0, dtype=torch.int64),
)


def offers(step: int, seed: int) -> RowCandidates:
    """Eight likeliest tokens a row; row 4 fails at the third step."""
    generator = torch.Generator().manual_seed(100 * seed + step)
    log_probs = torch.randn(10, 8, generator=generator).log_softmax(-1).sort(-1, descending=True)[0]
    tokens = torch.stack([torch.randperm(12, generator=generator)[:8] for _ in range(10)]) + 3
    is_failed = torch.zeros(10, dtype=torch.bool)
    if step == 2:
        is_failed[4], log_probs[4] = True, float("nan")
    if step > 5:  # a loop
        tokens[5:8] = torch.arange(4, 12) if step % 2 else torch.arange(5, 13)
        log_probs[5:8, 0] = -0.001
    return RowCandidates(log_probs, tokens, is_failed)


@pytest.mark.parametrize("seed", range(5))
@torch.inference_mode()
def test_the_compiled_search_does_what_the_tensors_do(seed: int) -> None:
    sizes, tokens = SearchSizes(4, 4, 48), SearchTokens(EOS, 0)
    ours = SteppedSearch(sizes, tokens)
    reference = Search(sizes, tokens, torch.device("cpu"))
    sentences = [SourceSentence([5, 6, EOS], options) for options in OPTIONS]
    for search in (ours, reference):
        start(search, sentences, LIMITS)
    is_running, endings = torch.ones(4, dtype=torch.bool), set()
    for step in range(40):
        given = offers(step, seed)
        copied = RowCandidates(*(table.clone() for table in given[:3]))
        expected = reference.advance(copied, TABLE, step + 1)
        found = ours.advance(given, TABLE)
        status, is_stuck, *_ = ours.tensors()
        assert status[is_running].tolist() == reference.status[is_running].tolist()
        endings |= set(reference.status[is_running].tolist())
        is_sound = is_running & (reference.status < Status.FAILED)
        _assert_same(ours, reference, step + 1, is_sound)
        is_running &= reference.status == Status.RUNNING
        is_live = (reference.live.score > float("-inf"))[TABLE.slots, TABLE.beams]
        is_compared = is_live & is_running[TABLE.slots]
        assert found[is_compared].tolist() == expected[is_compared].tolist()
    assert endings == set(Status)
    assert not is_running.any()
    assert is_stuck[2]


def _assert_same(ours: SteppedSearch, reference: Search, length: int, is_sound: Tensor) -> None:
    """All that counts: what a score of -inf stands beside does not."""
    _, is_stuck, live, finished = ours.tensors()
    assert is_stuck[is_sound].tolist() == reference.is_stuck[is_sound].tolist()
    for mine, theirs in ((live, reference.live), (finished, reference.finished)):
        is_there = (theirs.score > float("-inf")) & is_sound[:, None]
        assert ((mine.score > float("-inf")) == (theirs.score > float("-inf")))[is_sound].all()
        torch.testing.assert_close(mine.score[is_there], theirs.score[is_there])
        lengths = theirs.length if theirs is reference.finished else theirs.length * 0 + length
        for slot, beam in is_there.nonzero().tolist():
            end = int(lengths[slot, beam])
            assert mine.tokens[slot, beam, :end].equal(theirs.tokens[slot, beam, :end])
            assert mine.log_probs[slot, beam, :end].equal(theirs.log_probs[slot, beam, :end])
    shared = torch.tensor(ours.settled(TABLE.members.numpy(), length)[0])
    expected = reference.stable_lengths(TABLE, length)
    assert shared[is_sound].tolist() == expected[is_sound].tolist()
