"""The name below a letter stays, there and elsewhere in it."""

from __future__ import annotations

import pytest

from service.translation.markup.flow import Flow
from service.translation.markup.page import take_apart
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


@pytest.mark.parametrize("before", ["i. A.", "i.V.", "ppa.", "gez."])
def test_for_whom_somebody_signs_is_kept_too(before: str) -> None:
    text = f"MfG\n\n{before} Julia Koch\nJulia Koch"
    assert [text[slice(*span)] for span in find_kept(text)] == [before, "Julia Koch", "Julia Koch"]


@pytest.mark.parametrize(
    "gap", ["<br>", "</p><p>", "</p>\n<p>", "</p><p>&nbsp;</p><p>", "<br/>\n<b>"]
)
@pytest.mark.parametrize("greeting", GREETINGS)
def test_who_signs_is_kept_in_a_page(greeting: str, gap: str) -> None:
    page = f"<p>A Teacher<br>Julia Koch</p><p>{greeting}{gap}Julia Koch<br>A Teacher</p>"
    flows = [part for part in take_apart(page) if isinstance(part, Flow) and part.text.strip()]
    assert [[kept.text for kept in flow.kept] for flow in flows] == [[], [], [], ["Julia Koch"], []]


@pytest.mark.parametrize("field", ["Von", "An", "Cc", "From", "To", "CC", "Bcc"])
@pytest.mark.parametrize("end", ["", " <a@b.c>", "; B. Bo", ", B. Bo"])
def test_names_in_the_head_of_a_mail_are_kept(field: str, end: str) -> None:
    head = f"{field}: Julia Koch{end}"
    text = f"{head}\nBetreff: Das Haus\n\nHallo Julia Koch"
    assert [text[slice(*span)] for span in find_kept(text)].count("Julia Koch") == 2
    assert "Julia Koch" not in [head[slice(*span)] for span in find_kept(f"{head}\n")]


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
