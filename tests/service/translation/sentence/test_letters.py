"""Set phrases of letters and heads of mails leave as the target writes them."""

from __future__ import annotations

import pytest

from service.translation.sentence.letters import find_of_letter
from service.translation.sentence.rendering import read
from service.translation.sentence.replaced import Replaced
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself

EN_DE, DE_EN = ("en", "de"), ("de", "en")


@pytest.mark.parametrize("mark", ["", ",", "!", ".", ", Tom", ", Tom Fry"])
@pytest.mark.parametrize(
    ("text", "expected", "pair"),
    [
        ("Best regards", "Mit freundlichen Grüßen", EN_DE),
        ("yours faithfully", "Mit freundlichen Grüßen", EN_DE),
        ("Dear Sir or Madam", "Sehr geehrte Damen und Herren", EN_DE),
        ("To whom it may concern", "Sehr geehrte Damen und Herren", EN_DE),
        ("Mit freundlichen Grüßen", "Kind regards", DE_EN),
        ("Hochachtungsvoll", "Yours faithfully", DE_EN),
        ("Sehr geehrte Damen und Herren", "Dear Sir or Madam", DE_EN),
    ],
)
def test_a_phrase_alone_leaves_as_the_one_of_the_target(
    text: str, expected: str, pair: tuple[str, str], mark: str
) -> None:
    parsed, (entry,) = prepared(text + mark, pair=pair)
    assert entry.text == f"⟦0⟧{mark}"
    draft = leave(entry.stages, to_itself(entry.text))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == expected + mark


@pytest.mark.parametrize("rest", [" x", " RE: x", " Mon, 3 May", ""])
@pytest.mark.parametrize(
    ("english", "german"),
    [
        *(("From", "Von"), ("To", "An"), ("Sent", "Gesendet"), ("Subject", "Betreff")),
        *(("Date", "Datum"), ("Reply-To", "Antwort an"), ("Importance", "Wichtigkeit")),
    ],
)
def test_the_head_of_a_mail_is_the_one_of_the_target(english: str, german: str, rest: str) -> None:
    for old, new, pair in ((english, german, EN_DE), (german, english, DE_EN)):
        text = f"{old}:{rest}"
        assert Replaced(text, [*find_of_letter(text, *pair)]).text == f"{new}:{rest}"


@pytest.mark.parametrize(
    "text", ["To be or not", "From here: go", "My regards to all.", "Dear all", "Date of birth: 3"]
)
def test_other_texts_have_neither(text: str) -> None:
    assert [*find_of_letter(text, *EN_DE)] == []
