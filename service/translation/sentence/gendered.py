"""German words for persons of any gender, as Lehrer*innen, Kund:innen and jede/r: networks know the
plain ones."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.replaced import Replacement
from service.translation.sentence.spelled import Spelled, spell

_SIGN = r"(?:[*:_/·]-?|\(-?(?=\p{Ll}++\)))"
_GENDERED = regex.compile(
    rf"""(?<![\p{{L}}\p{{N}}_*])(?P<stem>\p{{L}}\p{{Ll}}++)
    (?: (?<=\b\p{{Lu}}\p{{Ll}}++)(?:{_SIGN}i|I(?=nnen)|(?<=er|or|ent|ist|ant)I)n(?P<plural>nen)?\)?
    | (?<=[^\W\d_]e){_SIGN}(?P<ending>r|(?<=\b\p{{Ll}}++{_SIGN})[nms])\)?
    | (?<=\b(?:[Ee]|[KkMmDdSs]e)in){_SIGN}(?P<ending>e[rnms]?)\)? ) (?![\p{{L}}*_])""",
    regex.X,
)


def enter_gendered(text: str, language: str) -> Spelled | None:
    """The stage of a German sentence with words such as Lehrer*innen; None without."""
    found = [*_find(text)] if language == "de" else []
    return spell(text, found) if found else None


def _find(text: str) -> Iterator[Replacement]:
    """Such words, and what stands for them: Lehrer, Kunden, Lehrerin, jeder."""
    for match in _GENDERED.finditer(text):
        stem = match["stem"]
        plural = stem if stem.endswith("er") else f"{stem}en"
        singular = stem + (match["ending"] or "in")
        yield Replacement(*match.span(), plural if match["plural"] else singular)
