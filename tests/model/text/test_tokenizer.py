"""Text to ids and back, whole or streamed: nothing is lost, nothing is spelled that was not
written."""

from __future__ import annotations

import dataclasses
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from model.text.normalisation import normalise
from model.text.reserved import reserved_pieces
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig, language_tag
from tests.conftest import train_tiny_tokenizer

WORDS = ["我们", "The", "7", "２.０", ".", "é", "ÄÖÜ", "。", "😀👩‍👩‍👧", "🇩🇪", "مرحبا"]
law = settings(max_examples=150, deadline=None)


@pytest.fixture(scope="module")
def sentencepiece(tiny_tokenizer_file: Path) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_file=str(tiny_tokenizer_file))


def target_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode_target_batch([text])[0]


@given(text=st.text())
def test_texts_are_normalised_to_nfc(text: str) -> None:
    assert normalise(text) == unicodedata.normalize("NFC", text)


def test_a_run_of_marks_that_no_language_has_is_normalised_in_parts() -> None:
    text = "a" + "\u0323\u0301" * 500 + "e\u0301"
    assert sorted(unicodedata.normalize("NFD", normalise(text))) == sorted(text)
    assert normalise(text).startswith("\u1ea1")
    assert normalise(text).endswith("\u00e9")


@law
@given(data=st.binary(max_size=40))
def test_any_bytes_come_back_as_unicode_decodes_them(
    tiny_tokenizer: Tokenizer, sentencepiece: SentencePieceProcessor, data: bytes
) -> None:
    """Byte pieces that are no UTF-8 are left out, and nothing takes their place."""
    ids = [int(sentencepiece.piece_to_id(f"<0x{byte:02X}>")) for byte in data]
    expected = data.decode("utf-8", errors="ignore").removeprefix(" ")
    assert tiny_tokenizer.decode(ids) == expected


@law
@given(text=st.text() | st.sampled_from(["<2zh>", "a<2en>b", "<s></s><pad><unk>", "<0x41>"]))
def test_no_text_can_spell_a_control_symbol(tiny_tokenizer: Tokenizer, text: str) -> None:
    forbidden = {*tiny_tokenizer.control_ids(), tiny_tokenizer.eos_id}
    assert forbidden.isdisjoint(tiny_tokenizer.encode_source_batch([text])[0])
    assert forbidden.isdisjoint(target_ids(tiny_tokenizer, text))


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_tag_comes_first_and_eos_last(tiny_tokenizer: Tokenizer, language: str) -> None:
    tag = tiny_tokenizer.tag_id(language)
    bare = tiny_tokenizer.encode_source_batch(["我喜欢茶。"])[0]
    ids = tiny_tokenizer.encode_source("我喜欢茶。", language)
    assert ids == [tag, *bare, tiny_tokenizer.eos_id]
    assert tiny_tokenizer.pieces([ids[0]]) == [language_tag(language)]


def test_a_piece_that_is_no_text_is_never_generated_and_one_of_private_use_only_copied(
    tiny_tokenizer_file: Path,
) -> None:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "b\ue000", "\U0010fffd", "\uf900"]
    pieces += ["b\N{REPLACEMENT CHARACTER}", "\N{OBJECT REPLACEMENT CHARACTER}"]
    (tiny_tokenizer_file.parent / "pieces.json").write_text(json.dumps(pieces), encoding="utf-8")
    name = tiny_tokenizer_file.name
    own = TokenizerConfig(name, name, target_vocabulary="pieces.json")
    both = dataclasses.replace(own, source_vocabulary="pieces.json")
    found = [Tokenizer(tiny_tokenizer_file, tiny_tokenizer_file, one) for one in (own, both)]
    assert [one.control_ids() for one in found] == [[0, 1, 3, 8, 9]] * 2
    assert [one.copied_ids() for one in found] == [{5: None, 6: None}, {5: 5, 6: 6}]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\ufeff我喜欢茶。", "我喜欢茶。"),
        ("I li\u00adke\u200b tea\u200e.", "I like tea."),
        ("te\u200da \u200ctea", "tea tea"),
        ("茶\ufe0f茶\U000e0100", "茶茶"),
        ("caf\u034fe\u2060\u0301", "café"),
    ],
)
def test_what_cannot_be_seen_does_not_reach_the_model(
    tiny_tokenizer: Tokenizer, text: str, seen: str
) -> None:
    assert tiny_tokenizer.encode_source(text, "zh") == tiny_tokenizer.encode_source(seen, "zh")


@law
@given(data=st.data())
def test_the_streamed_pieces_join_to_the_whole_text(
    tiny_tokenizer: Tokenizer, data: st.DataObject
) -> None:
    """Words and control symbols alone, and among byte pieces that may be no UTF-8."""
    spelled = [tiny_tokenizer.text_of(token) for token in range(tiny_tokenizer.target_vocab_size)]
    wordy = [token for token, text in enumerate(spelled) if isinstance(text, str)]
    words = st.lists(st.sampled_from(wordy))
    ids = data.draw(words | st.lists(st.integers(0, len(spelled) - 1)))
    stream = tiny_tokenizer.stream()
    pieces = [stream.push(token) for token in ids]
    text = tiny_tokenizer.decode(ids)
    assert "".join([*pieces, stream.flush()]) == text
    assert not text.startswith(" ")


@law
@given(text=st.text(min_size=1))
def test_a_streamed_piece_never_holds_half_a_character(
    tiny_tokenizer: Tokenizer, text: str
) -> None:
    stream = tiny_tokenizer.stream()
    whole = tiny_tokenizer.decode(target_ids(tiny_tokenizer, text))
    shown = ""
    for token in target_ids(tiny_tokenizer, text):
        shown += stream.push(token)
        assert whole.startswith(shown)


def test_a_character_cut_off_does_not_swallow_what_follows(tiny_tokenizer: Tokenizer) -> None:
    euro = target_ids(tiny_tokenizer, "€")
    cut = [token for token in euro if isinstance(tiny_tokenizer.text_of(token), bytes)][:2]
    ids = [*cut, *target_ids(tiny_tokenizer, "茶")]
    assert tiny_tokenizer.decode(ids).replace(" ", "") == "茶"


PIECES = reserved_pieces(16)


@pytest.fixture(scope="module")
def reserving(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer with 16 reserved pieces of each kind."""
    path = train_tiny_tokenizer(tmp_path_factory.mktemp("reserving") / "reserving.model", 514, 16)
    return Tokenizer(path, path, TokenizerConfig(path.name, path.name, reserved=16))


@law
@given(
    parts=st.lists(
        st.one_of(st.sampled_from(PIECES), st.sampled_from(WORDS)),
        min_size=1,
        max_size=8,
    ),
    gaps=st.lists(st.sampled_from(["", " "]), min_size=8, max_size=8),
)
def test_reserved_pieces_are_one_token_each_and_what_is_around_them_comes_back(
    reserving: Tokenizer, parts: list[str], gaps: list[str]
) -> None:
    text = "".join(gap + part for gap, part in zip(["", *gaps], parts, strict=False))
    ids = target_ids(reserving, text)
    assert reserving.decode(ids) == text
    pieces = reserving.pieces(ids)
    assert all(pieces.count(piece) == text.count(piece) for piece in PIECES)
    stream = reserving.stream()
    assert "".join(stream.push(token) for token in ids) + stream.flush() == text
