"""A label and its number or address, as in Telefon +49 30 1234567: networks lose or move the label,
or join the two with a hyphen, unless a colon stands between them. The colon of what stands before
speech they double."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from service.translation.language.segmentation import is_spaced
from service.translation.markup.flow import MARK
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

_LABELLED = regex.compile(rf"(?:\p{{L}}[\p{{L}}-]*+\.? )?\p{{L}}[\p{{L}}-]*+\.?(?P<space> ){MARK}")
_NUMBER = regex.compile(r"(?=(?:\D*\d){5})[A-Z\d+(][A-Z\d ()+./-]*+")
_PLACE = regex.compile(r"\S+@\S+|(?:https?://|www\.)\S+")
_COLON = regex.compile(rf"[:：]\s*+(?={MARK})")


_HEADING = regex.compile(
    r"(?!(?:About|After|Around|Auf|Before|Bis|During|From|Mit|Nach|Nur|Only|Over|Seit|Since|The"
    r"|Until|Von|Vor) )\p{Lu}\p{Ll}{2,}+ (?P<number>\d{1,4}[a-z]?)(?=[:.,)]|\s[-–—]|\Z)"
)
"""A word with its number, and a month with its year; no preposition."""


@dataclass(frozen=True)
class Label:
    """The stage of a label and its number: the text with a colon in place of the space."""

    text: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with a space in place of the colon."""
        found = [Replacement(*one.span(), " ") for one in _COLON.finditer(draft.text)]
        return draft.changed(found)


@dataclass(frozen=True)
class Speaker:
    """The stage of a Chinese text that ends with a colon."""

    text: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with one colon at its end, and no space before it."""
        end = len(draft.text) - 1
        start = len(draft.text[:end].rstrip(" :")) if draft.text.endswith(":") else end
        return draft.changed([Replacement(start, end, "")] if start < end else [])


def enter_labels(text: str, number: str, language: str) -> Label | None:
    """The stage of a text that is a label of one or two words and a kept `number`, or in German an
    address; None of others. In English the word may be a verb: Visit https://a.b."""
    found = _LABELLED.fullmatch(text)
    is_number = _NUMBER.fullmatch(number) or (language == "de" and _PLACE.fullmatch(number))
    if found is None or not is_number:
        return None
    at = found.start("space")
    return Label(f"{text[:at]}:{text[at + 1 :]}")


def has_lost_label(text: str, translation: str, pair: tuple[str, str]) -> bool:
    """Whether a text begins with a word and its number, as Item 1:, and the translation with the
    number, between languages with spaces."""
    heading = _HEADING.match(text) if all(map(is_spaced, pair)) else None
    if heading is None or not translation.startswith(heading["number"]):
        return False
    return not translation[len(heading["number"]) :][:1].isalnum()
