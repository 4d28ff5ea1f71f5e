"""BLEU on raw text and as older papers computed it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU

from model.training.evaluation import bleu, evaluate

REFERENCES = ["Zwei Männer, die z.B. kochen.", "Ein Hund läuft über das grüne Gras."]
TRANSLATIONS = ["Zwei Männer, die oft kochen.", "Der Hund läuft über das Gras."]


def test_lowercase_tokenized_bleu_is_that_of_text_tokenized_by_hand() -> None:
    translations = ["zwei männer , die oft kochen .", "der hund läuft über das gras ."]
    references = ["zwei männer , die z.b. kochen .", "ein hund läuft über das grüne gras ."]
    by_hand = BLEU(tokenize="none", force=True).corpus_score(translations, [references]).score
    value, signature = bleu(TRANSLATIONS, REFERENCES, "de", is_lowercase_tokenized=True)
    assert value == pytest.approx(by_hand)
    assert "case:lc" in signature
    assert "tok:none" in signature


@pytest.mark.parametrize(("sentences", "measured"), [(None, 3), (2, 2), (9, 3)])
def test_only_the_first_sentences_of_a_set_are_measured_if_wanted(
    tmp_path: Path, sentences: int | None, measured: int
) -> None:
    (tmp_path / "dev.tsv").write_text("eins\tone\nzwei\ttwo\ndrei\tthree\n", encoding="utf-8")
    recipe = tmp_path / "small.toml"
    corpus = f'[[data.corpora]]\nname = "x"\ndev = "{tmp_path / "dev.tsv"}"'
    text = f'[data]\nlanguages = ["de", "en"]\n{corpus}\n[training]\nmax_steps = 1\n'
    recipe.write_text(text, encoding="utf-8")
    asked: list[list[str]] = []

    def translate(texts: list[str], source: str, target: str) -> list[str]:
        asked.append(texts)
        return texts

    scores = evaluate(translate, recipe, "dev", sentences=sentences)
    assert [score.sentences for score in scores] == [measured, measured]
    assert asked == [["eins", "zwei", "drei"][:measured], ["one", "two", "three"][:measured]]
