"""Sentences that are in the target language already stay as they are."""

from __future__ import annotations

import pytest

from service.translation.language.already import frequent_words, is_in_target


@pytest.mark.parametrize(
    ("pair", "text", "is_in"),
    [
        *((("en", "de"), text, True) for text in ("Ich liebe dich.", "Wo ist der Bahnhof?")),
        *((("en", "de"), text, False) for text in ("Der Spiegel is a magazine.", "Die hard!")),
        *((("en", "de"), text, False) for text in ("I like tea.", "Ist", "The ist value", "", "!")),
        *((("de", "en"), text, True) for text in ("Hello, how are you?", "Please save the file.")),
        *((("de", "en"), text, False) for text in ("The Beatles sind toll.", "Das ist at work.")),
        *(
            (("en", "zh"), text, is_in)
            for text, is_in in (("我喜欢茶。", True), ("I like 茶.", False))
        ),
        *((("zh", "en"), text, is_in) for text, is_in in (("I like tea.", True), ("我 OK", False))),
    ],
)
def test_it_tells_the_target_from_the_source(pair: tuple[str, str], text: str, is_in: bool) -> None:
    tell = is_in_target(*pair)
    assert tell is not None
    assert tell(text) is is_in


def test_one_look_tells_that_a_sentence_has_no_word_of_the_target() -> None:
    words = frequent_words("en", "de")
    assert words.isdisjoint(["The", "house", "was", "so", "big,", "and", "I", "die", "in", "it."])
    assert not words.isdisjoint(["We", "like", "dich."])


def test_of_most_pairs_it_is_not_known() -> None:
    assert is_in_target("en", "fr") is None
    assert is_in_target("de", "de") is None
