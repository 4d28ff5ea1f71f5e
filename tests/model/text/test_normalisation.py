"""Texts are in Unicode's NFC, and nothing else of them changes."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from model.text.normalisation import normalise


@given(text=st.text())
def test_texts_are_normalised_to_nfc(text: str) -> None:
    assert normalise(text) == unicodedata.normalize("NFC", text)


def test_a_run_of_marks_that_no_language_has_is_normalised_in_parts() -> None:
    text = "a" + "\u0323\u0301" * 500 + "e\u0301"
    assert sorted(unicodedata.normalize("NFD", normalise(text))) == sorted(text)
    assert normalise(text).startswith("\u1ea1")
    assert normalise(text).endswith("\u00e9")
