"""No text is an error: cut, every sentence has as many tokens as the model takes, or fewer."""

from __future__ import annotations

import dataclasses
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.checkpoint.bundled import BUNDLED_NAMES
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from service.translation.language.segmentation import cut_text
from service.translation.sentence_encoder import SentenceEncoder
from tests.model.importers.originals import Corpus, pieces_of

ROOT = Path(__file__).parents[3]
BUNDLED = list(BUNDLED_NAMES)
ANYTHING = st.characters(exclude_categories=["Cs"])
ODD = st.sampled_from(
    "a ﷺ﷽𝔘\u0301\u0315\u200d\ufe0f\ufeff\u3164ཀཱུ㌖ﬃ½क्ष།。. \t\x00\U000e0100\U0010ffff"
)
TEXTS = st.one_of(
    st.text(ANYTHING, max_size=60),
    st.text(ODD, max_size=80),
    st.builds(
        lambda unit, n: "a" + unit * n,
        st.text(ANYTHING, min_size=1, max_size=3),
        st.integers(1, 90),
    ),
)
law = settings(max_examples=250, deadline=None)


@pytest.fixture(scope="module", params=[*BUNDLED, "unigram", "bpe", "with both tags"])
def tokenizer(request: pytest.FixtureRequest, corpus: Corpus) -> Tokenizer:
    """The bundled ones spell in bytes; the others do not, and normalize themselves."""
    if request.param in BUNDLED:
        path = ROOT / "checkpoints" / request.param / "sentencepiece.model"
        return Tokenizer(path, path)
    model = corpus.bpe_model if request.param == "bpe" else corpus.joint_model
    config = TokenizerConfig(model.name, model.name, normalization="none")
    if request.param == "with both tags":
        english, chinese = pieces_of(model)[-2:]
        config = dataclasses.replace(
            config,
            source_layout=("source_tag", "target_tag", "text", "eos"),
            tags={"en": english, "zh": chinese},
        )
    return Tokenizer(model, model, config)


@law
@given(
    text=TEXTS,
    form=st.sampled_from(["NFC", "NFD"]),
    limit=st.sampled_from([LEAST_SOURCE_TOKENS, 28, 34]),
)
def test_every_sentence_of_every_text_fits_and_nothing_is_lost(
    tokenizer: Tokenizer, text: str, form: str, limit: int
) -> None:
    text = unicodedata.normalize("NFD" if form == "NFD" else "NFC", text)
    encoder = SentenceEncoder(tokenizer, "en", "zh", limit)
    pieces = cut_text(text, "en", limit, lambda part: len(encoder.ids(part)))
    assert "".join(piece.text for piece in pieces) == text
    sentences = [piece.text for piece in pieces if piece.is_sentence]
    lengths = [len(tokenizer.encode_source(sentence, "zh", "en")) for sentence in sentences]
    assert all(1 <= length <= limit for length in lengths)
