"""The name below a letter stays, there and elsewhere in it."""

from __future__ import annotations

import pytest

from service.translation.placeholders import find_kept

GREETINGS = [
    *("Mit freundlichen Grüßen", "Viele Grüße aus Berlin", "Liebe Grüße,", "Beste Gruesse", "MfG,"),
    *("Kind regards,", "With best wishes", "Yours sincerely,", "Sincerely yours,", "Thanks,"),
]


@pytest.mark.parametrize("greeting", GREETINGS)
@pytest.mark.parametrize("name", ["Julia Koch", "Dr. Hans von Stein", "J. K. Baker", "Mark O’Hara"])
@pytest.mark.parametrize("gap", ["\n", "\n\n", " \n"])
def test_who_signs_is_kept(greeting: str, name: str, gap: str) -> None:
    text = f"{name} here.\nThe house is big.\n{greeting}{gap}{name}\nA Teacher\n{name}"
    assert [text[slice(*span)] for span in find_kept(text)] == [name] * 3


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Viele Grüße\nDein Team",
            "Viele Grüße\nEs ist schön hier.",
            "Grüße\nbis morgen",
            "Grüße",
        ),
        *(
            "Thanks\nRed House",
            "Best\nRed House",
            "Es grünt\nRotes Haus",
            "He regards\n\n\nRed House",
        ),
    ],
)
def test_no_other_line_is_a_name(text: str) -> None:
    assert find_kept(text) == []
