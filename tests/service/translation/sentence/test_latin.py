"""Latin words in other scripts are found, and missed in translations."""

from __future__ import annotations

import pytest

from service.translation.sentence.latin import find_latin, keeps_latin, lost_latin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天的 meeting 改到OK吧。", ["meeting", "OK"]),
        ("他是software engineer，don't worry！", ["software engineer", "don't worry"]),
        ("T恤, X光, a3, H2O, 5kg, _b_c, ab_c", []),
        ("Ça va, Łódź-Tour和AA制", ["Ça va", "Łódź-Tour", "AA"]),
        ("你好, привет", []),
    ],
)
def test_runs_of_words_are_found(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in find_latin(text)] == expected


def test_what_a_translation_lacks_is_counted_but_for_capitals() -> None:
    assert lost_latin("请点击Save按钮，打开file menu", "Please click save and open the menu.") == 1
    assert keeps_latin("zh", "de")
    assert not keeps_latin("en", "zh")
    assert not keeps_latin("de", "en")
