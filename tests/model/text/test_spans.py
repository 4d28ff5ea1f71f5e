"""Tokens stand where they were cut from, whatever normalisation did to the text."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st

from model.text.normalisation import normalise, visible_offsets, without_invisible
from model.text.spans import NOWHERE, Span, char_spans, disjoint
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig

_AWKWARD = (
    "aé e\u0301\u0323 ﬁﬃ ½①㈱ Ａｂ１ ﷺ 𠮷野 👩\u200d👩\u200d👧 🇩🇪 각"
    "\u1112\u1161\u11ab \u200b\u00ad\ufeff"
    "\u0344\u0958\u0f73 กำ ক\u09be न\u093c ⟦0⟧ \u3000\t\u00a0 İß \U0001d15e \u212b Ω"
)
_SPACE = "▁"
"""What sentencepiece writes for a space, and cannot tell from one."""
TEXTS = st.text(st.sampled_from(_AWKWARD) | st.characters(exclude_categories=["Cs"]), max_size=40)
EXAMPLES = (
    "",
    " ",
    "Hello  world!",
    _AWKWARD,
    "\u0301\u0301a",
    "e\u0323\u0301",
    "𝒳",
    "\u200b",
    "▁",
)


@pytest.fixture(scope="module")
def tokenizers(
    tiny_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> list[Tokenizer]:
    """Ours, with bytes for unknown characters; and one of NFKC without bytes, as imported ones."""
    directory = tmp_path_factory.mktemp("nfkc")
    corpus = directory / "corpus.txt"
    corpus.write_text("the quick brown fox 我喜欢你 ab cd fi 1/2 " * 40 + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus),
        model_prefix=str(directory / "nfkc"),
        vocab_size=50,
        normalization_rule_name="nmt_nfkc",
        hard_vocab_limit=False,
        pad_id=3,
        minloglevel=2,
    )
    model = directory / "nfkc.model"
    config = TokenizerConfig(
        model.name, model.name, normalization="none", source_layout=("text", "eos")
    )
    bundled = Path("checkpoints/zh-en/sentencepiece.model")
    return [tiny_tokenizer, Tokenizer(bundled, bundled), Tokenizer(model, model, config)]


def with_examples(test: Callable[..., None]) -> Callable[..., None]:
    for text in EXAMPLES:
        test = example(text=text)(test)
    return settings(deadline=None)(given(text=TEXTS)(test))


@with_examples
def test_visible_offsets_are_those_of_the_characters_kept(text: str) -> None:
    assert "".join(text[i] for i in visible_offsets(text)) == without_invisible(text)


@with_examples
def test_each_cleaned_character_comes_from_the_text_that_composes_to_it(text: str) -> None:
    cleaned = normalise(without_invisible(text))
    spans = char_spans(text, is_cleaned=True)
    assert len(spans) == len(cleaned)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    for span, group in itertools.groupby(zip(spans, cleaned, strict=True), lambda pair: pair[0]):
        composed = "".join(char for _, char in group)
        offsets = [i for i in visible_offsets(text) if span.start <= i < span.end]
        assert composed == normalise("".join(text[i] for i in offsets))


@with_examples
def test_source_tokens_stand_within_the_text_in_order(
    tokenizers: list[Tokenizer], text: str
) -> None:
    for tokenizer in tokenizers:
        ids = tokenizer.encode_source(text, "en")
        spans = tokenizer.source_spans(text, "en")
        assert len(spans) == len(ids)
        placed = [span for span in spans if span != NOWHERE]
        assert all(0 <= start < end <= len(text) for start, end in placed)
        assert placed == sorted(placed)
        covered = {i for start, end in placed for i in range(start, end)}
        visible = {i for i in visible_offsets(text) if not text[i].isspace() and text[i] != _SPACE}
        if tokenizer.byte_ids():
            control = {
                i for i in visible if unicodedata.category(text[i]) in ("Cc", "Cf", "Cn", "Co")
            }
            assert visible - control <= covered


@with_examples
def test_target_tokens_stand_where_decoding_puts_them(
    tokenizers: list[Tokenizer], text: str
) -> None:
    for tokenizer in tokenizers:
        (ids,) = tokenizer.encode_target_batch([text])
        spans, decoded = tokenizer.target_spans(ids), tokenizer.decode(ids)
        assert len(spans) == len(ids)
        covered = "".join(decoded[start:end] for start, end in dict.fromkeys(spans))
        assert "".join(covered.split()) == "".join(decoded.split())
        for piece, (start, end) in zip(tokenizer.pieces(ids), spans, strict=True):
            if piece not in ("<unk>",) and not piece.startswith("<0x"):
                assert decoded[start:end] == piece.replace("▁", " ").strip()


@settings(deadline=None)
@given(ids=st.lists(st.integers(min_value=0, max_value=399), max_size=30))
def test_any_target_ids_stand_within_their_text(
    tokenizers: list[Tokenizer], ids: list[int]
) -> None:
    """Also bytes that make no character, and control symbols."""
    for tokenizer in tokenizers:
        known = [token % tokenizer.target_vocab_size for token in ids]
        spans, decoded = tokenizer.target_spans(known), tokenizer.decode(known)
        assert len(spans) == len(known)
        assert all(0 <= start <= end <= len(decoded) for start, end in spans)
        assert all(not decoded[start:end][:1].isspace() for start, end in spans)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=8))
def test_the_first_of_what_shares_a_place_is_kept(places: list[tuple[int, int]]) -> None:
    parts = [Span(start, start + length) for start, length in places]
    kept = disjoint(parts)
    assert all(one.end <= other.start for one, other in itertools.pairwise(kept))
    for number, part in enumerate(parts):
        is_free = all(
            part.end <= other.start or other.end <= part.start for other in disjoint(parts[:number])
        )
        assert is_free <= (part in kept)
    assert set(kept) <= set(parts)
