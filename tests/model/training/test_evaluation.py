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


def recipe_with(directory: Path, corpus: str) -> Path:
    path = directory / "small.toml"
    text = f'[data]\nlanguages = ["de", "en"]\n[[data.corpora]]\nname = "x"\n{corpus}\n'
    path.write_text(f"{text}[training]\nmax_steps = 1\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("sentences", "measured"), [(None, 3), (2, 2), (9, 3)])
def test_only_the_first_sentences_of_a_set_are_measured_if_wanted(
    tmp_path: Path, sentences: int | None, measured: int
) -> None:
    (tmp_path / "dev.tsv").write_text("eins\tone\nzwei\ttwo\ndrei\tthree\n", encoding="utf-8")
    recipe = recipe_with(tmp_path, f'dev = "{tmp_path / "dev.tsv"}"')
    asked: list[list[str]] = []

    def translate(texts: list[str], source: str, target: str) -> list[str]:
        asked.append(texts)
        return texts

    scores = evaluate(translate, recipe, "dev", sentences=sentences)
    assert [score.sentences for score in scores] == [measured, measured]
    assert asked == [["eins", "zwei", "drei"][:measured], ["one", "two", "three"][:measured]]
