"""The fused logits pass against the plain one, on random logits."""

from __future__ import annotations

import pytest
import torch

from model.backends.fused.search import RankingSearch
from model.decoding.network_interface import RowTable
from model.decoding.options import DecodingOptions
from model.decoding.search import Search
from model.decoding.search_sizes import SearchSizes, SearchTokens
from model.decoding.sentence import SourceSentence
from model.decoding.slot_options import Features
from model.decoding.utf8 import Utf8Tables
from tests.model.network.reference import start

EOS, SLOTS = 3, 3
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy computes the kernels
CPU = torch.device("cpu")
NEVER = float("-inf")


def table_of(width: int) -> RowTable:
    rows = torch.arange(SLOTS * width)
    members = torch.arange(SLOTS)
    return RowTable(rows.view(-1, width), rows // width, rows % width, members, rows, rows[:0])


def searches(vocab_size: int, width: int, has_utf8: bool) -> list[Search]:
    """Between characters and within them; one prefix is over, one goes on."""
    bytes_of = {20: 0x41, 21: 0xC3, 22: 0xA9}
    utf8 = Utf8Tables.of(bytes_of, vocab_size, CPU) if has_utf8 else None
    sizes, tokens = SearchSizes(SLOTS, width, 16), SearchTokens(EOS, 0)
    both = [kind(sizes, tokens, CPU, utf8) for kind in (Search, RankingSearch)]
    for search in both:
        options = DecodingOptions(beam_size=width)
        prefixes: list[tuple[int, ...]] = [(), (7, 21), (7, 8, 20)]
        sentences = [SourceSentence([5, EOS], options, prefix=prefix) for prefix in prefixes]
        start(search, sentences, [16] * SLOTS)
        search.length += 2
        search.spelling[0, 0] = search.spelling[2, 0] = int(has_utf8)
    return both


@pytest.mark.parametrize(
    ("vocab_size", "width", "has_utf8", "has_prefix"),
    [
        (23, 1, True, True),
        (23, 16, True, False),  # fewer tokens than candidates
        (1500, 4, True, True),
        (2048, 2, False, False),
        (3001, 5, False, True),
    ],
)
def test_candidates_of_random_logits_are_alike(
    vocab_size: int, width: int, has_utf8: bool, has_prefix: bool
) -> None:
    plain, fused = searches(vocab_size, width, has_utf8)
    logits = 8 * torch.randn(SLOTS * width, vocab_size, generator=torch.Generator().manual_seed(1))
    logits[:, :3] = NEVER
    features = Features(False, False, has_prefix, False, 0, 0)
    table = table_of(width)
    expected = plain.choose(logits.clone(), table, 3, features)
    found = fused.choose(logits.clone(), table, 3, features)
    torch.testing.assert_close(found.log_probs, expected.log_probs)
    is_real = expected.log_probs > NEVER
    assert torch.equal(found.tokens[is_real], expected.tokens[is_real])
    assert found.tokens.min() >= 0
    assert found.tokens.max() < vocab_size
    assert not found.is_failed.any()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), NEVER])
def test_only_a_row_without_finite_scores_fails(wrong: float) -> None:
    plain, fused = searches(1500, 2, has_utf8=False)
    logits = torch.randn(SLOTS * 2, 1500)
    logits[1, :] = wrong if wrong == NEVER else logits[1]
    logits[1, 1300] = wrong
    features = Features(False, False, False, False, 0, 0)
    expected = plain.choose(logits.clone(), table_of(2), 3, features)
    found = fused.choose(logits, table_of(2), 3, features)
    assert found.is_failed.tolist() == expected.is_failed.tolist()
    assert found.is_failed.sum() == 1
    assert found.tokens.max() < 1500
