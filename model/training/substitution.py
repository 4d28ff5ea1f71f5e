"""Pairs with another number, country, language, city, weekday or month.

A small corpus has few of each, so a model learns some by heart and guesses the others: after "I am
twenty-five years old." everybody's age begins with twenty, and Belgium becomes Italy. Numbers in
words come from num2words and cn2an, names from the CLDR through Babel (Unicode licence).
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from babel import Locale
from cn2an import an2cn
from num2words import num2words

from model.training.anchors import Pair

Around = tuple[str, str]
_TRADITIONAL = {"hant", "tw", "hk", "mo"}
LANGUAGES = ("de", "en", "zh")
"""The languages whose numbers and names are known."""
_LEAST, _MOST = 13, 99
"""The numbers to replace: of two digits, above hours and months, which have their own limits."""
_DIGITS = r"[1-9]\d"
_NO_DIGITS = r"(?<![\w.,:/$€£¥-]){}(?![\w/:%°]|[.,-]\w|\.\s*[a-zäöü])"
_NO_NUMERALS = (
    r"(?<![第零〇一二两三四五六七八九十百千万亿几数.,:：/\d-]){}"
    r"(?!\s*[零〇一二两三四五六七八九十百千万亿几多来余月日号点时秒:：%°/\d-]|\.\d|分(?!钟)|年代|世纪)"
)
_PARTS = re.compile(
    r"o.clock|\d\s?[ap]m\b|\b[ap]\.m\b|\buhr\b|per\s?cent|prozent|hundred|thousand|million|milli|"
    r"billion|hundert|tausend|\bcents?\b|centur",
    re.IGNORECASE,
)
_MONTHS = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b"
)
"""Words beside a number that limit it, as in a date, or are a part of it."""
_GROUPS = {"en": ",", "de": ".", "zh": ""}
_LEAST_GROUPED = 10_000
_MOST_ZEROS, _MOST_ZEROS_IN_EUROPE = 6, 4
"""The most zeros of a round number: German words for millions have endings of their own."""
_DIGITS_SHARE, _MIXED_SHARE = 0.5, 0.15
_ALONE_SHARE = 0.2
"""The share of the made pairs that are the two names alone."""
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


class Gap(NamedTuple):
    """The text before and after the missing string, on each side of a pair."""

    first: Around
    second: Around

    def filled(self, first: str, second: str) -> Pair:
        return first.join(self.first), second.join(self.second)


def gap_at(pair: Pair, matches: tuple[re.Match[str], re.Match[str]]) -> Gap:
    """The pair without what was found in its first and in its second side."""
    first, second = (
        (text[: match.start()], text[match.end() :])
        for text, match in zip(pair, matches, strict=True)
    )
    return Gap(first, second)


def base_languages(codes: tuple[str, str]) -> tuple[str, str]:
    """("zh-Hans", "en-GB") -> ("zh", "en"); traditional Chinese stays "zh-Hant", because its names
    and numerals are written in another way."""
    return _base(codes[0]), _base(codes[1])


def _base(code: str) -> str:
    base, *subtags = code.lower().split("-")
    return "zh-Hant" if base == "zh" and _TRADITIONAL & set(subtags) else base


class NumberGap(NamedTuple):
    gap: Gap
    languages: tuple[str, str]


def number_gaps(pairs: Sequence[Pair], languages: tuple[str, str]) -> list[NumberGap]:
    """The pairs with one number on each side, the same, from 13 to 99. Times, dates, centuries and
    shares do not count. None in a language that is not in LANGUAGES."""
    first, second = base_languages(languages)
    if first not in LANGUAGES or second not in LANGUAGES:
        return []
    found = []
    for pair in pairs:
        matches = _only_number(pair[0], first), _only_number(pair[1], second)
        if matches[0] and matches[1] and _value(matches[0], first) == _value(matches[1], second):
            found.append(NumberGap(gap_at(pair, (matches[0], matches[1])), (first, second)))
    return found


def with_another_number(numbered: NumberGap, rng: random.Random) -> tuple[Pair, tuple[int, ...]]:
    """The pair with a random number, and its sides that may be a source.

    Half of the pairs have digits on both sides, so that digits of a source stay digits. The others
    have words on both sides. Some have Chinese words and the other language's digits, as
    translators write 三万五千; these are translated only from Chinese.
    """
    (first, second), gap = numbered.languages, numbered.gap
    number = _number(rng, _MOST_ZEROS if "zh" in numbered.languages else _MOST_ZEROS_IN_EUROPE)
    share = rng.random()
    if share < _DIGITS_SHARE:
        return gap.filled(digits(number, first), digits(number, second)), (0, 1)
    spelled = _spelled_in(gap.first, number, first), _spelled_in(gap.second, number, second)
    if share < _DIGITS_SHARE + _MIXED_SHARE and "zh" in numbered.languages:
        chinese = numbered.languages.index("zh")
        mixed = [digits(number, first), digits(number, second)]
        mixed[chinese] = spelled[chinese]
        return gap.filled(mixed[0], mixed[1]), (chinese,)
    return gap.filled(*spelled), (0, 1)


def digits(number: int, language: str) -> str:
    """35000 -> "35,000" in English; groups begin at five digits."""
    if number < _LEAST_GROUPED:
        return str(number)
    return f"{number:,}".replace(",", _GROUPS[language])


def words(number: int, language: str) -> str:
    """35000 -> "thirty-five thousand" in English, 三万五千 in Chinese."""
    if language != "zh":
        return str(num2words(number, lang=language)).replace(",", "")
    return re.sub("^一(?=十)", "", re.sub("^二(?=[千万亿])", "两", an2cn(number, "low")))


def _number(rng: random.Random, most_zeros: int) -> int:
    size = rng.random()
    if size < 0.6:
        return rng.randint(_LEAST, _MOST)
    if size < 0.8:
        return rng.randint(100, 999)
    if size < 0.9:
        return rng.randint(1000, 9999)
    return rng.randint(2, 99) * int(10 ** rng.randint(2, most_zeros))


def _spelled_in(around: tuple[str, str], number: int, language: str) -> str:
    """The words, with a capital at the start of a text."""
    spelled = words(number, language)
    return spelled if around[0].strip("\"'“„«") else spelled[0].upper() + spelled[1:]


def _only_number(text: str, language: str) -> re.Match[str] | None:
    found = list(_pattern(language).finditer(text))
    return found[0] if len(found) == 1 and not _is_limited(text) else None


def _is_limited(text: str) -> bool:
    return bool(_PARTS.search(text) or _MONTHS.search(text))


def _value(match: re.Match[str], language: str) -> int:
    text = match[0].lower()
    return int(text) if text.isdecimal() else _values(language)[text]


@functools.cache
def _values(language: str) -> dict[str, int]:
    return {words(number, language): number for number in range(_LEAST, _MOST + 1)}


@functools.cache
def _pattern(language: str) -> re.Pattern[str]:
    known = sorted(map(re.escape, _values(language)), key=len, reverse=True)
    either = f"(?:{'|'.join([*known, _DIGITS])})"
    frame = _NO_NUMERALS if language == "zh" else _NO_DIGITS
    return re.compile(frame.format(either), re.IGNORECASE)


class Substitutes(NamedTuple):
    """Things that can take each other's place: their names in both languages by key, and what
    finds one in a text of each."""

    names: Mapping[str, Pair]
    patterns: tuple[re.Pattern[str], re.Pattern[str]]


class NamedGap(NamedTuple):
    gap: Gap
    kind: Substitutes


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
def kinds(first: str, second: str) -> tuple[Substitutes, ...]:
    """The names that the CLDR has in both languages, by kind."""
    found = []
    for ours, theirs in zip(_catalogues(first), _catalogues(second), strict=True):
        names = {key: (ours[key], theirs[key]) for key in ours if key in theirs}
        patterns = (
            _either([name for name, _ in names.values()], first),
            _either([name for _, name in names.values()], second),
        )
        found.append(Substitutes(names, patterns))
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


def _matches(pair: Pair, kind: Substitutes) -> tuple[re.Match[str], re.Match[str]] | None:
    first, second = (
        list(pattern.finditer(text)) for pattern, text in zip(kind.patterns, pair, strict=True)
    )
    is_single = len(first) == len(second) == 1
    is_same = is_single and (first[0][0], second[0][0]) in kind.names.values()
    return (first[0], second[0]) if is_same else None
