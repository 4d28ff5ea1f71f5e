"""Names behind titles as the target writes them: most German ones are nouns, so that networks make
Mr Less of Herr Klein, and Very gentleman cook of Sehr geehrter Herr Koch. Of English ones those
that need no case: Dear Mrs Baker was Herren Baker. Of Chinese ones also those with numerals."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from model.text.spans import disjoint
from service.translation.sentence.chinese_names import find_chinese_names, may_name_in_chinese
from service.translation.sentence.letters import MAYBE_OF_LETTER, find_of_letter
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.whole_names import find_whole_names, may_have_whole_names

_TITLES = {"H": "Mr", "F": "Ms"}
"""By the first letter."""
_DETERMINER = (
    r"(?i:[dms]ein|ihr|unse?r|eue?r|k?ein|dies|jed|manch|welch|jung|alt)e?[mnrs]?"
    r"|[Dd](?:ie|e[mnrs])|[AaIi]m|[Vv]om|[Bb]eim|[Zz]u[mr]"
)
_OFFICE = (
    r"(?i:\p{L}*(?:präsident|minister|kanzler|kommissar|direktor|meister|anwalt|vorsitz|rat\b|rätin)"
    r"|professor|doktor|kolleg|nachbar|ober(?:st)?\b|lehrer|pfarrer|pastor|bischof|general|gott\b|jesus\b|christus\b)"
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


_ENGLISH = regex.compile(
    rf"""(?:^(?P<dear>Dear)\s)?(?P<both>Mr\.?\s(?:and|&)\s(?=Mrs))?
    (?P<title>(?(dear)(?:Mr|Miss)|(?!))\b\.?|M(?:r?s)\b\.?)\s
    (?P<name>{_NAME}(?:\s{_NAME}(?=[,;()]|$))?)(?![\p{{L}}\p{{N}}_/]|[-*:]\p{{L}}|\s\d)""",
    regex.X,
)
_ENGLISH_DEAR = regex.compile(r"^Dear(?=(?: \p{Lu}[\p{L}.'’-]++){2,4}[,:!]?$)")
"""Before names of a woman or a man, and before offices."""


def may_name(text: str, language: str) -> bool:
    """Whether a text may have such names, or begin with a greeting."""
    if language == "zh":
        return may_name_in_chinese(text)
    of_letter = MAYBE_OF_LETTER.get(language)
    if (of_letter and of_letter.match(text)) or may_have_whole_names(text):
        return True
    if language == "en":
        return "Mrs" in text or "Ms" in text or text.startswith("Dear ")
    is_named = "Herr" in text or "Frau" in text or text.startswith(("Sehr geehrte", "Liebe"))
    return language == "de" and is_named


def find_named(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The names with their titles, other names of people, greetings and heads of mails."""
    found = [*find_of_letter(text, source, target)]
    if (source, target) == ("de", "en"):
        found += (*_named(text), *_greetings(text))
    elif (source, target) == ("zh", "en"):
        found += find_chinese_names(text)
    elif (source, target) == ("en", "de"):
        found += (Replacement(*one.span(), _in_german(one)) for one in _ENGLISH.finditer(text))
        found += (Replacement(*one.span(), "Guten Tag") for one in _ENGLISH_DEAR.finditer(text))
    yield from disjoint([*found, *find_whole_names(text, source, target)])


def _in_german(found: regex.Match[str]) -> str:
    is_man = found["title"].startswith("Mr") and not found["title"].startswith("Mrs")
    title = "Herr und Frau" if found["both"] else "Herr" if is_man else "Frau"
    ending = "r" if title == "Herr" else ""
    return f"{f'Sehr geehrte{ending} ' if found['dear'] else ''}{title} {found['name']}"


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
