"""German names behind Herr and Frau, as English writes them: most are nouns, so that networks make
Mr Less of Herr Klein, and Very gentleman cook of Sehr geehrter Herr Koch."""

from __future__ import annotations

from collections.abc import Iterator

import regex

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
_NAMED = regex.compile(
    rf"""(?:(?:^|(?<=,\s))(?P<dear>[Ss]ehr\sgeehrter?|[Ll]ieber?)\s)?
    (?<!\b(?:{_DETERMINER}|Mann\s(?:und|oder))\s)\b
    (?P<both>Herrn?\sund\s(?=Frau))?(?P<title>Herrn?|Frau|(?:Hrn?|Fr)\.)\s
    (?P<name>(?P<degrees>(?:(?:Prof|Dr)\.\s(?:(?:med|phil|jur)\.\s|h\.\s?c\.\s)?)*+)(?!{_OFFICE})
        (?:(?:von|van|zu|de)\s(?:de[mnr]\s)?)?\p{{Lu}}\p{{Ll}}++(?:-\p{{Lu}}\p{{Ll}}++)*+)
    (?![\p{{L}}\p{{N}}_/]|[-*:]\p{{L}}|\s\d)""",
    regex.X,
)


def may_name(text: str) -> bool:
    """Whether a German text may have such names."""
    return "Herr" in text or "Frau" in text


def find_named(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The names with their titles, and the greeting before them."""
    if (source, target) == ("de", "en"):
        for found in _NAMED.finditer(text):
            both = "Mr and " if found["both"] else ""
            title = "" if found["degrees"] else f"{_TITLES[found['title'][0]]} "
            yield Replacement(*found.span(), f"{_dear(found)}{both}{title}{found['name']}")


def _dear(found: regex.Match[str]) -> str:
    if not found["dear"]:
        return ""
    return "Dear " if found["dear"][0].isupper() else "dear "
