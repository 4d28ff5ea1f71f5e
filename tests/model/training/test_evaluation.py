"""BLEU on raw text and as older papers computed it."""

from __future__ import annotations

import pytest
from sacrebleu.metrics.bleu import BLEU

from model.training.evaluation import bleu

REFERENCES = ["Zwei Männer, die z.B. kochen.", "Ein Hund läuft über das grüne Gras."]
TRANSLATIONS = ["Zwei Männer, die oft kochen.", "Der Hund läuft über das Gras."]


def test_raw_bleu_is_sacrebleus_default() -> None:
    reference = BLEU().corpus_score(TRANSLATIONS, [REFERENCES]).score
    value, signature = bleu(TRANSLATIONS, REFERENCES, "de", is_lowercase_tokenized=False)
    assert value == pytest.approx(reference)
    assert "case:mixed" in signature
    assert "tok:13a" in signature


def test_lowercase_tokenized_bleu_is_that_of_text_tokenized_by_hand() -> None:
    translations = ["zwei männer , die oft kochen .", "der hund läuft über das gras ."]
    references = ["zwei männer , die z.b. kochen .", "ein hund läuft über das grüne gras ."]
    by_hand = BLEU(tokenize="none", force=True).corpus_score(translations, [references]).score
    value, signature = bleu(TRANSLATIONS, REFERENCES, "de", is_lowercase_tokenized=True)
    assert value == pytest.approx(by_hand)
    assert "case:lc" in signature
    assert "tok:none" in signature


def test_only_lowercase_tokenized_bleu_is_blind_to_case() -> None:
    shouted = [text.upper() for text in REFERENCES]
    assert bleu(shouted, REFERENCES, "de", is_lowercase_tokenized=True)[0] == pytest.approx(100)
    assert bleu(shouted, REFERENCES, "de", is_lowercase_tokenized=False)[0] < 50
