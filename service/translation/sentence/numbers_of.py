"""German words for the number of something, such as Bestell-Nr., Kd.-Nr. and Hausnr."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.replaced import Replacement

LETTERS = r"\p{L}\p{M}\p{N}"
_AFTER = r"(?=[\s,;:!?…)\]/]|$)"
POINT = (
    rf"(?:\.(?=\W*+\w){_AFTER}|\.(?=[,:;)\]])|(?=\.\W*+$)"
    r"|\.(?=\d)(?<!\b[Mm](?:ax|in)\.))"
)
"""The point of an abbreviation, without one that also ends the sentence; Max.5 may be a name."""
_NUMBERS_OF = {
    "Art": "Artikel",
    "Auftr": "Auftrags",
    "Best": "Bestell",
    "Kd": "Kunden",
    "Kto": "Konto",
    "Pers": "Personal",
    "Rechn": "Rechnungs",
    "Rg": "Rechnungs",
    "Ser": "Serien",
    "St": "Steuer",
    "Tel": "Telefon",
    "Vers": "Versicherungs",
}
_NUMBER_OF = regex.compile(
    rf"(?<![{LETTERS}._/-])"
    rf"(?:(?P<short>{'|'.join(_NUMBERS_OF)})\.\s?-?\s?N|(?P<what>\p{{L}}{{3,}}?)(?:-N|n))r{POINT}"
)
"""Bestell-Nr., Best.-Nr., Hausnr."""


def find_numbers_of(text: str) -> Iterator[Replacement]:
    """The abbreviations, with whole words for them."""
    for found in _NUMBER_OF.finditer(text):
        what = found["what"] or _NUMBERS_OF[found["short"]]
        space = " " if text[found.end() : found.end() + 1].isdigit() else ""
        number = f"-Nummer{space}" if what.isupper() else f"nummer{space}"
        yield Replacement(*found.span(), f"{what}{number}")
