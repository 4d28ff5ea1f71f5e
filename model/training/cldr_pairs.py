"""Pairs with another country, language, city, weekday or month, as the CLDR names them.

A small corpus names few of each, so a model spells the others after their sound: Ungarn stays
"Ungarn", and Belgium becomes Italy. Babel brings the names (Unicode licence).
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from babel import Locale

from model.training.alignment import Pair
from model.training.gaps import Gap, base_languages, gap_at

LANGUAGES = ("de", "en", "zh")
"""French elides and contracts before names, so that these do not fit into each other's place."""

_ALONE_SHARE = 0.2
"""Of the made pairs, those that are only two names."""
_TERRITORIES = (
    "AE AF AL AM AO AR AT AU AZ BA BD BE BG BH BO BR BY CA CH CL CM CN CO CR CU CY CZ DE DK DO DZ "
    "EC EE EG ES ET FI FJ FR GB GE GH GR GT HN HR HU ID IE IL IN IQ IR IS IT JM JO JP KE KH KP KR "
    "KW KZ LA LB LK LT LU LV LY MA MD ME MG MK ML MM MN MT MX MY MZ NA NE NG NI NL NO NP NZ OM PA "
    "PE PH PK PL PT PY QA RO RS RU RW SA SD SE SG SI SK SN SO SV SY TH TN TR TZ UA UG US UY UZ VE "
    "VN YE ZA ZM ZW"
)
_WITH_ARTICLE = {
    "de": "AE CH DO GB IR IQ JM LB MN NE NL PH SD SK TR UA US YE",
    "en": "AE DO GB NL PH US",
    "zh": "",
}
"""Territories that have an article, so that they fit into no other's place."""
_LANGUAGES = (
    "af am ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu ha he hi hr hu hy "
    "id is it ja ka kk km ko ku la lo lt lv mk mn ms mt my ne nl no pa pl ps pt ro ru si sk sl so "
    "sq sr sv sw ta te th tr uk ur uz vi yi zh zu"
)
_ZONES = (
    "Africa/Accra Africa/Addis_Ababa Africa/Algiers Africa/Cairo Africa/Casablanca Africa/Dakar "
    "Africa/Johannesburg Africa/Lagos Africa/Nairobi Africa/Tripoli Africa/Tunis America/Bogota "
    "America/Caracas America/Chicago America/Denver America/Havana America/Lima "
    "America/Los_Angeles America/Montevideo America/New_York America/Phoenix America/Toronto "
    "America/Vancouver Asia/Baghdad Asia/Baku Asia/Bangkok Asia/Beirut Asia/Colombo Asia/Damascus "
    "Asia/Dhaka Asia/Dubai Asia/Jakarta Asia/Jerusalem Asia/Kabul Asia/Karachi Asia/Kuala_Lumpur "
    "Asia/Manila Asia/Riyadh Asia/Seoul Asia/Shanghai Asia/Taipei Asia/Tashkent Asia/Tbilisi "
    "Asia/Tehran Asia/Tokyo Asia/Yerevan Atlantic/Reykjavik Australia/Adelaide Australia/Brisbane "
    "Australia/Melbourne Australia/Perth Australia/Sydney Europe/Amsterdam Europe/Athens "
    "Europe/Belgrade Europe/Berlin Europe/Brussels Europe/Bucharest Europe/Budapest "
    "Europe/Copenhagen Europe/Dublin Europe/Helsinki Europe/Istanbul Europe/Lisbon Europe/London "
    "Europe/Madrid Europe/Minsk Europe/Moscow Europe/Oslo Europe/Paris Europe/Prague Europe/Riga "
    "Europe/Rome Europe/Sarajevo Europe/Sofia Europe/Stockholm Europe/Tallinn Europe/Vienna "
    "Europe/Vilnius Europe/Warsaw Europe/Zagreb Europe/Zurich Pacific/Auckland Pacific/Honolulu"
)
"""Time zones, which are named after cities."""
_COMMONER = {"Türkiye": "Turkey", "Bangla": "Bengali"}


class Kind(NamedTuple):
    """Things that can take each other's place: their names in both languages by key, and what
    finds one in a text of each."""

    names: Mapping[str, Pair]
    patterns: tuple[re.Pattern[str], re.Pattern[str]]


class NamedGap(NamedTuple):
    gap: Gap
    kind: Kind


def name_gaps(pairs: Sequence[Pair], languages: tuple[str, str]) -> list[NamedGap]:
    """The pairs that name exactly one thing of a kind on each side, the same. None in a language
    that is not in LANGUAGES."""
    first, second = base_languages(languages)
    if first not in LANGUAGES or second not in LANGUAGES:
        return []
    found = []
    for kind in kinds(first, second):
        for pair in pairs:
            if (matches := _matches(pair, kind)) is not None:
                found.append(NamedGap(gap_at(pair, matches), kind))
    return found


def with_another_name(named: NamedGap, rng: random.Random) -> Pair:
    """The pair with another thing of its kind, or only that thing's two names."""
    names = rng.choice(list(named.kind.names.values()))
    return names if rng.random() < _ALONE_SHARE else named.gap.filled(*names)


@functools.cache
def kinds(first: str, second: str) -> tuple[Kind, ...]:
    """What the CLDR names in both languages, by kind."""
    found = []
    for ours, theirs in zip(_catalogues(first), _catalogues(second), strict=True):
        names = {key: (ours[key], theirs[key]) for key in ours if key in theirs}
        patterns = (
            _either([name for name, _ in names.values()], first),
            _either([name for _, name in names.values()], second),
        )
        found.append(Kind(names, patterns))
    return tuple(found)


def _catalogues(language: str) -> tuple[dict[str, str], ...]:
    """The names of territories, languages, cities, weekdays and months by key."""
    locale = Locale.parse(language)
    excluded = _WITH_ARTICLE[language].split()
    fitting = [code for code in _TERRITORIES.split() if code not in excluded]
    return (
        {code: _plain(locale.territories[code]) for code in fitting},
        {code: _plain(locale.languages[code]) for code in _LANGUAGES.split()},
        {zone: _city(locale, zone) for zone in _ZONES.split()},
        {str(day): name for day, name in locale.days["format"]["wide"].items()},
        {str(month): name for month, name in locale.months["format"]["wide"].items()},
    )


def _plain(name: str) -> str:
    """Without what is in parentheses, as in "Myanmar (Burma)"."""
    name = re.sub(r"\s*[(（].*", "", name).replace(" & ", " and ")
    return _COMMONER.get(name, name)


def _city(locale: Locale, zone: str) -> str:
    city = locale.time_zones.get(zone, {}).get("city")
    return str(city) if city else zone.partition("/")[2].replace("_", " ")


def _either(names: Sequence[str], language: str) -> re.Pattern[str]:
    """Finds any of the names as a whole, the longest first."""
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(f"(?:{either})" if language == "zh" else rf"(?<![\w-])(?:{either})(?![\w-])")


def _matches(pair: Pair, kind: Kind) -> tuple[re.Match[str], re.Match[str]] | None:
    first, second = (
        list(pattern.finditer(text)) for pattern, text in zip(kind.patterns, pair, strict=True)
    )
    is_single = len(first) == len(second) == 1
    is_same = is_single and (first[0][0], second[0][0]) in kind.names.values()
    return (first[0], second[0]) if is_same else None
