"""Placeholders and tags: one piece each, never split, and the text around them is untouched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.text.reserved import reserved_pieces
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from model.training.recipe import CorpusTable, DataTable, Recipe, TokenizerTable, TrainingTable
from model.training.setup import train_tokenizer

PIECES = reserved_pieces(16)


@pytest.fixture(scope="module")
def reserving_file(tmp_path_factory: pytest.TempPathFactory, tiny_pairs: Path) -> Path:
    """A sentencepiece model of the tiny corpus with 16 reserved pieces of each kind."""
    path = tmp_path_factory.mktemp("reserving") / "reserving.model"
    data = DataTable(languages=("zh", "en"), corpora=(CorpusTable("tiny", tiny_pairs),))
    table = TokenizerTable(vocab_size=514, reserved_pieces=16)
    train_tokenizer(Recipe("tiny", {}, data, table, TrainingTable(max_steps=1)), path)
    return path


@pytest.fixture(scope="module")
def reserving(reserving_file: Path) -> Tokenizer:
    config = TokenizerConfig(reserving_file.name, reserving_file.name, reserved=16)
    return Tokenizer(reserving_file, reserving_file, config)


def pieces_of(tokenizer: Tokenizer, text: str) -> list[str]:
    return tokenizer.pieces(tokenizer.encode_target_batch([text])[0])


@pytest.mark.parametrize("piece", PIECES)
def test_a_reserved_piece_is_one_token_wherever_it_stands(reserving: Tokenizer, piece: str) -> None:
    for text in (piece, f"我{piece}你", f"a{piece}b", f"x {piece} y", f"7{piece}8", piece * 3):
        assert pieces_of(reserving, text).count(piece) == text.count(piece)


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(
        st.one_of(st.sampled_from(PIECES), st.sampled_from(["我们", "The", "7", ".", "é", "。"])),
        min_size=1,
        max_size=8,
    ),
    gaps=st.lists(st.sampled_from(["", " "]), min_size=8, max_size=8),
)
def test_text_and_spaces_around_reserved_pieces_come_back_as_they_were(
    reserving: Tokenizer, parts: list[str], gaps: list[str]
) -> None:
    text = "".join(gap + part for gap, part in zip(["", *gaps], parts, strict=False))
    (ids,) = reserving.encode_target_batch([text])
    assert reserving.decode(ids) == text
    stream = reserving.stream()
    assert "".join(stream.push(token) for token in ids) + stream.flush() == text
