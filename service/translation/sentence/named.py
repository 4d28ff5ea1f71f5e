"""German names behind Herr and Frau, as English writes them: most are nouns, so that networks make
Mr Less of Herr Klein, and Very gentleman cook of Sehr geehrter Herr Koch."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from model.text.spans import disjoint
from service.translation.sentence.replaced import Replacement

_TITLES = {"H": "Mr", "F": "Ms"}
"""By the first letter."""
_DETERMINER = (
    r"(?i:[dms]ein|ihr|unse?r|eue?r|k?ein|dies|jed|manch|welch|jung|alt)e?[mnrs]?"
    r"|[Dd](?:ie|e[mnrs])"
)
_OFFICE = (
    r"(?i:\p{L}*(?:präsident|minister|kanzler|kommissar|direktor|meister|anwalt|vorsitz|rat\b|rätin)"
    r"|professor|doktor|kolleg|nachbar|ober(?:st)?\b|lehrer|pfarrer|pastor|bischof|general|gott\b)"
)
"""What is no name behind the title."""
_NAME = r"\p{Lu}\p{Ll}++(?:-\p{Lu}\p{Ll}++)*+"
_NAMED = regex.compile(
    rf"""(?:(?:^|(?<=,\s))(?P<dear>[Ss]ehr\sgeehrter?|[Ll]ieber?)\s)?
    (?<!\b(?:{_DETERMINER}|Mann\s(?:und|oder))\s)\b
    (?P<both>Herrn?\sund\s(?=Frau))?(?P<title>Herrn?|Frau|(?:Hrn?|Fr)\.)\s
    (?P<name>(?P<degrees>(?:(?:Prof|Dr)\.\s(?:(?:med|phil|jur)\.\s|h\.\s?c\.\s)?)*+)(?!{_OFFICE})
        (?:(?:von|van|zu|de)\s(?:de[mnr]\s)?)?{_NAME}(?:\s{_NAME}(?=[,;()]|$))?)
    (?![\p{{L}}\p{{N}}_/]|[-*:]\p{{L}}|\s\d)""",
    regex.X,
)

_DEAR = regex.compile(
    r"^(?:Sehr\sgeehrte[rs]?(?=\s\p{L})|Liebe[rs]?(?=\s\p{Lu}\p{Ll}[^.,;:!?]{0,40}[,!]$))"
)
"""A greeting of others."""


def may_name(text: str) -> bool:
    """Whether a German text may have such names, or begin with a greeting."""
    return "Herr" in text or "Frau" in text or text.startswith(("Sehr geehrte", "Liebe"))


def find_named(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The names with their titles, and greetings."""
    if (source, target) == ("de", "en"):
        yield from disjoint([*_named(text), *_greetings(text)])


def _greetings(text: str) -> Iterator[Replacement]:
    yield from (Replacement(*found.span(), "Dear") for found in _DEAR.finditer(text))


def _named(text: str) -> Iterator[Replacement]:
    for found in _NAMED.finditer(text):
        title = "Mr and Mrs" if found["both"] else _TITLES[found["title"][0]]
        title = "" if found["degrees"] else f"{title} "
        yield Replacement(*found.span(), f"{_dear(found)}{title}{found['name']}")


def _dear(found: regex.Match[str]) -> str:
    if not found["dear"]:
        return ""
    return "Dear " if found["dear"][0].isupper() else "dear "
