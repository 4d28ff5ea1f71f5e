"""Text to ids and back: nothing is lost, nothing is spelled that was not written."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from model.text.normalisation import normalise
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig, language_tag

SENTENCES = [
    "我们昨天去学校。",
    "“你好，世界！”（２.０版）",
    "Größe, Straße und Übermut: ÄÖÜ.",
    "Thank you 😀👩‍👩‍👧 🇩🇪!",
    "naïve café, cafe\u0301",
    "مرحبا بالعالم",
    "1998 / 2024",
]
law = settings(max_examples=150, deadline=None)


@pytest.fixture(scope="module")
def sentencepiece(tiny_tokenizer_file: Path) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_file=str(tiny_tokenizer_file))


def target_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode_target_batch([text])[0]


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_comes_back_as_it_was(tiny_tokenizer: Tokenizer, text: str) -> None:
    assert tiny_tokenizer.decode(target_ids(tiny_tokenizer, text)) == normalise(text)


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


def test_a_piece_that_says_that_something_was_lost_is_never_generated(
    tiny_tokenizer_file: Path,
) -> None:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "b\N{REPLACEMENT CHARACTER}"]
    (tiny_tokenizer_file.parent / "pieces.json").write_text(json.dumps(pieces), encoding="utf-8")
    name = tiny_tokenizer_file.name
    config = TokenizerConfig(name, name, target_vocabulary="pieces.json")
    tokenizer = Tokenizer(tiny_tokenizer_file, tiny_tokenizer_file, config)
    assert tokenizer.control_ids() == [0, 1, 3, 5]


def test_a_piece_of_private_use_is_only_copied(tiny_tokenizer_file: Path) -> None:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "b\ue000", "\U0010fffd", "\uf900"]
    (tiny_tokenizer_file.parent / "private.json").write_text(json.dumps(pieces), encoding="utf-8")
    name = tiny_tokenizer_file.name
    own = TokenizerConfig(name, name, target_vocabulary="private.json")
    both = dataclasses.replace(own, source_vocabulary="private.json")
    found = [Tokenizer(tiny_tokenizer_file, tiny_tokenizer_file, one) for one in (own, both)]
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
