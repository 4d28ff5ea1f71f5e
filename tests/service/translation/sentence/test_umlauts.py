"""German that is typed without umlauts goes in with them, where the vocabulary has the word."""

from __future__ import annotations

import pytest

from service.translation.sentence.umlauts import enter_umlauts
from tests.service.translation.sentence.test_stages import to_itself, tokenizer_of

TYPED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
TOKENIZER = tokenizer_of(16)


def test_a_word_of_the_vocabulary_is_read_however_it_is_typed() -> None:
    words = [
        word
        for word in (TOKENIZER.decode([piece]) for piece in range(TOKENIZER.target_vocab_size))
        if word.isalpha() and word != word.translate(TYPED)
    ]
    pieces = TOKENIZER.encode_source_batch([word.translate(TYPED) for word in words])
    whole = TOKENIZER.encode_source_batch(words)
    checked = 0
    for word, typed, ids in zip(words, pieces, whole, strict=True):
        if len(ids) == 1 and len(typed) > 1:
            checked += 1
            stage = enter_umlauts(word.translate(TYPED), TOKENIZER, "de")
            assert stage is not None
            assert stage.text.translate(TYPED) == word.translate(TYPED)
            assert stage.leave(to_itself(stage.text)) == to_itself(word.translate(TYPED))
    assert checked > 300


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Koennen Sie fuer ⟦0⟧ die Strasse", "Können Sie für ⟦0⟧ die Straße"),
        ("Neue Frauen, Quellen und Goethe muss das Wasser", None),
        ("Ich möchte fuer", None),
    ],
)
def test_only_such_words_change(text: str, read: str | None) -> None:
    stage = enter_umlauts(text, TOKENIZER, "de")
    assert (stage and stage.text) == read
    assert enter_umlauts(text, TOKENIZER, "en") is None
