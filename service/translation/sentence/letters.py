"""Set phrases of letters, and the heads of quoted mails, as the target writes them: networks make
Mindestensachen of Best regards, and Beendet: of Subject:."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import regex

from service.translation.sentence.replaced import Replacement

_HEADS = {
    ("en", "de"): {
        "Von": "From",
        "Gesendet": "Sent",
        "An": "To",
        "Betreff": "Subject",
        "Datum": "Date",
        "Antwort an": "Reply-To",
        "Anhang": "Attachment",
        "Anhänge": "Attachments",
        "Wichtigkeit": "Importance",
    },
    ("de", "en"): {
        "From": "Von",
        "Sent": "Gesendet",
        "To": "An",
        "Subject": "Betreff",
        "Date": "Datum",
        "Reply-To": "Antwort an",
        "Attachment": "An(?:lage|hang)",
        "Attachments": "An(?:lagen|hänge)",
        "Importance": "Wichtigkeit",
        "Cc": "Kopie",
    },
}
"""By pair, what the target writes before a colon, and the pattern of what the source does."""
_PHRASES = {
    ("en", "de"): {
        "Sehr geehrte Damen und Herren": (
            "Dear (?:Sir or Madam|Madam or Sir|Sirs?|Sirs? (?:and|or) Madams?"
            "|Ladies and Gentlemen)|To whom it may concern"
        ),
        "Mit freundlichen Grüßen": (
            "(?:(?:With )?(?:best|kind(?:est)?) )?regards|Yours (?:sincerely|faithfully|truly)"
            "|Sincerely(?: yours)?|(?:Very )?respectfully(?: yours)?"
        ),
        "Viele Grüße": "(?:With )?(?:(?:many )?best wishes|warm(?:est)? regards)|All the best",
        "Alles Liebe": "(?:Lots of|All my|With) love",
        "Vielen Dank im Voraus": "(?:Many thanks|Thanks|Thank you)(?: very much)? in advance",
    },
    ("de", "en"): {
        "Dear Sir or Madam": "Sehr geehrte (?:Damen und Herren|Herren und Damen)",
        "Kind regards": (
            "(?:Mit )?(?:freundliche[nm]?|beste[nm]?|herzliche[nm]?|viele[nm]?|schöne[nm]?)"
            " Gr(?:u(?:ß|ss)|ü(?:ß|ss)en?|ue(?:ß|ss)en?)"
        ),
        "Yours faithfully": "Hochachtungsvoll",
        "Lots of love": "(?:Viele )?(?:liebe|ganz liebe) Grüße|Alles Liebe",
        "Thank you in advance": "(?:Vielen |Besten |Herzlichen )?Dank im [Vv]oraus",
    },
}
"""By pair, what the target writes, and the pattern of what stands alone in a line."""


def _any_of(patterns: Mapping[str, str]) -> str:
    return "|".join(f"({pattern})" for pattern in patterns.values())


_PATTERNS = {
    pair: regex.compile(
        rf"(?:{_any_of(_HEADS[pair])})(?=:\s|:?\Z)"
        rf"|(?i:{_any_of(_PHRASES[pair])})(?=\s?[,.!:]?\Z|, (?:\p{{Lu}}[\p{{L}}.-]*+ ?){{1,3}}\Z)"
    )
    for pair in _HEADS
}
MAYBE_OF_LETTER = {
    source: re.compile(
        rf"(?:{_any_of(_HEADS[source, target])})(?::|\Z)|(?i:{_any_of(_PHRASES[source, target])})"
    )
    for source, target in _HEADS
}
"""By language, how a text begins that is such a phrase or has such a head: one cheap look."""


def find_of_letter(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The phrase that a text is, or the head that it begins with."""
    pattern = _PATTERNS.get((source, target))
    found = pattern.match(text) if pattern else None
    if found and found.lastindex:
        written = [*_HEADS[source, target], *_PHRASES[source, target]]
        yield Replacement(*found.span(), written[found.lastindex - 1])
