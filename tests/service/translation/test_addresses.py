"""A German address stays, in one line or two."""

from __future__ import annotations

import pytest

from service.translation.placeholders import find_kept

STREETS = [
    *("Lindenweg 3", "An der Alster 12a", "Unter den Linden 77", "Am Alten Markt 5", "Im Tal 5 b"),
    *("Friedrich-Ebert-Platz 3-5", "Lange Straße 12", "Österreicher Ring 1/2", "Kaiserdamm 100"),
]
PLACES = [
    *("20099 Hamburg", "60329 Frankfurt am Main", "06108 Halle (Saale)", "D-80331 München"),
    *("8010 Graz", "A-1010 Wien", "61348 Bad Homburg vor der Höhe", "8001 Zürich"),
]


@pytest.mark.parametrize("street", STREETS)
@pytest.mark.parametrize("place", PLACES)
def test_street_and_place_are_kept(street: str, place: str) -> None:
    for address in (f"{street}, {place}", f"{street}\n{place}", f"{street} · {place}"):
        for text in (address, f"Ort: {address}.", f"Er wohnt in {address}, glaube ich."):
            found = [text[slice(*span)] for span in find_kept(text)]
            assert [one for one in found if one != "·"] == [street, place]


@pytest.mark.parametrize(
    "text",
    [
        *("On May 12, 2024 President Bo came.", "Um 12, 10000 Menschen", "Am 3. Mai, 20000 Leute"),
        *("Zimmer 5, 3 Betten", "Zimmer 5, 10000 euro", "Im Jahr 2024, 10115 Berlin"),
    ],
)
def test_other_numbers_are_no_address(text: str) -> None:
    assert find_kept(text) == []
