"""Abbreviations, and signs of numbers, that networks lose or copy: they go in as whole words.

Without this, `3 Mrd. Euro` becomes `3. euros`, and `misc. items` falsche Gegenstände.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cache

import regex

from service.translation.checks.calendar_ranges import DAYS
from service.translation.checks.halves import find_halves
from service.translation.checks.spelled_out import find_spelled_out
from service.translation.sentence.numbers.chinese_numbers import find_chinese_numbers
from service.translation.sentence.numbers.chinese_periods import find_periods
from service.translation.sentence.numbers.chinese_units import find_chinese_units
from service.translation.sentence.numbers.counted import find_counted
from service.translation.sentence.numbers.durations import find_durations
from service.translation.sentence.numbers.eras import find_eras
from service.translation.sentence.numbers.german_marks import find_german_marks
from service.translation.sentence.numbers.hours import find_hours
from service.translation.sentence.numbers.kitchen_units import find_kitchen_units
from service.translation.sentence.numbers.legal_sentences import find_legal_sentences
from service.translation.sentence.numbers.scaled import find_scaled
from service.translation.sentence.numbers.swiss_amounts import find_swiss_amounts
from service.translation.sentence.numbers.weekdays import find_days
from service.translation.sentence.numbers_of import LETTERS, POINT, find_numbers_of
from service.translation.sentence.ordinals import find_ordinals
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.spelled import Spelled, spell

_AS_DAY = (
    rf"(?:(?=\.(?:,|\s?\d))|(?<=(?:(?:{'|'.join(DAYS['de'])})\.,\s?"
    r"|\b(?:am|Am|ab|Ab|vom|Vom|jeden)\s)..)|(?<=^(?!So)..)(?=\.$))"
)
"""Behind two letters that are a day in a list, beside a time or a preposition, or alone."""
_ANSWERS = r"(?:\b(?i:said|says?|answer(?:s|ed)?|was|is|or|told\s\w+|a)\s[\"“‘']?)"
"""What stands before the word no."""
_WORDS = {
    "de": {
        r"1(?<=\b[Dd]er\s1)(?=\.\sWeltkrieg).": "Erste",
        r"1(?=\.\sWeltkrieg).": "Ersten",
        r"2(?<=\b[Dd]er\s2)(?=\.\sWeltkrieg).": "Zweite",
        r"2(?=\.\sWeltkrieg).": "Zweiten",
        **{f"{day}{_AS_DAY}.": name for day, name in DAYS["de"].items()},
        r"Abb(?=\.\s?\d).": "Bild",
        "Abb.": "Abbildung",
        "Abs.": "Absatz",
        "Abt.": "Abteilung",
        r"Anm\.\s?d\.\s?Red.": "Anmerkung der Redaktion",
        "Anm.": "Anmerkung",
        "Apr.": "April",
        r"Art(?=\.\s?\d).": "Artikel",
        "Aufl.": "Auflage",
        "Aug.": "August",
        "Bd.": "Band",
        "Bj.": "Baujahr",
        "Bhf.": "Bahnhof",
        r"Bio(?<=\d\s?Bio).": "Billionen",
        "Bsp.": "Beispiel",
        "Ca.": "Etwa",
        "Dez.": "Dezember",
        "Fa.": "Firma",
        "Feb.": "Februar",
        r"Fr(?=\.\s\p{Lu}\p{Ll}).": "Frau",
        "Hbf.": "Hauptbahnhof",
        "Hr.": "Herr",
        "Hrsg.": "Herausgeber",
        "Jan.": "Januar",
        r"Jg(?=\.\s?\d).": "Jahrgang",
        "Jhd?t?.": "Jahrhundert",
        "Kap.": "Kapitel",
        r"Kl(?=\.\s?\d).": "Klasse",
        r"Min(?<=[\d⟧]\s?Min).": "Minuten",
        "Mio.": "Millionen",
        "Mrd.": "Milliarden",
        "MwSt.": "Mehrwertsteuer",
        "Nov.": "November",
        "Nr.": "Nummer",
        "Okt.": "Oktober",
        r"Pers(?<=[\d⟧]\s?Pers).": "Personen",
        "Pers.": "Person",
        "Pkt.": "Punkte",
        r"S(?=\.\s?\d).": "Seite",
        "Sek.": "Sekunden",
        "Sept?.": "September",
        "Std.": "Stunden",
        "Stk.": "Stück",
        "Tab.": "Tabelle",
        "Tel.": "Telefon",
        "Tsd.": "tausend",
        r"Wo(?<=\d\s?Wo).": "Wochen",
        r"Ziff(?=\.\s?\d).": "Nummer",
        "allg.": "allgemein",
        "bes.": "besonders",
        "bspw.": "beispielsweise",
        "bzgl.": "bezüglich",
        "bzw.": "oder",
        r"d\.\s?h.": "d.h.",
        "durchschn.": "durchschnittlich",
        "ehem.": "ehemalige",
        "einschl.": "einschließlich",
        "entspr.": "entsprechend",
        "evtl.": "eventuell",
        "exkl.": "ohne",
        "geb.": "geboren",
        "geschl.": "geschlossen",
        "gegr.": "gegründet",
        "gem.": "gemäß",
        "gest.": "gestorben",
        "ggfs?.": "falls nötig",
        "ggü.": "gegenüber",
        "i.A.": "im Auftrag",
        "i.V.m.": "in Verbindung mit",
        "i.d.R.": "in der Regel",
        "inkl.": "inklusive",
        "insb(?:es)?.": "insbesondere",
        "insg.": "insgesamt",
        "jährl.": "jährlich",
        "k.A.": "keine Angabe",
        "lfd.": "laufende",
        "lt.": "laut",
        "m.E.": "meines Erachtens",
        "max.": "maximal",
        r"min(?=\.\s\d).": "mindestens",
        "mind.": "mindestens",
        "monatl.": "monatlich",
        "n.Chr.": "nach Christus",
        "o.g.": "oben genannte",
        "o.Ä.": "oder Ähnliches",
        "o.ä.": "oder Ähnliches",
        "nachm.": "nachmittags",
        "p.P.": "pro Person",
        "p.a.": "pro Jahr",
        r"rd(?=\.\s\d).": "rund",
        "s.o.": "siehe oben",
        "s.u.": "siehe unten",
        "sog.": "sogenannte",
        "tgl.": "täglich",
        "tägl.": "täglich",
        "USt.": "Mehrwertsteuer",
        "Urt.": "Urteil",
        "u.U.": "unter Umständen",
        "u.a.": "unter anderem",
        "u.v.m.": "und vieles mehr",
        "u.Ä.": "und Ähnliches",
        "u.ä.": "und Ähnliches",
        "ungef.": "ungefähr",
        "urspr.": "ursprünglich",
        "v.Chr.": "vor Christus",
        "v.a.": "vor allem",
        "verh.": "verheiratet",
        "vermutl.": "vermutlich",
        "versch.": "verschiedene",
        "vgl.": "siehe",
        "voraussichtl.": "voraussichtlich",
        "vorm.": "vormittags",
        "z.B.": "zum Beispiel",
        "z.Hd.": "zu Händen",
        "z.K.": "zur Kenntnis",
        "z.T.": "zum Teil",
        "z.Zt.": "zurzeit",
        "zzgl.": "und",
        r"o(?=\.\s\p{Ll}{3}|\.\s\p{Lu}).": "oder",
        r"u(?=\.\s\p{Ll}{3}|\.\s[\p{Lu}\d]).": "und",
    },
    "en": {
        "Apr.": "April",
        "Aug.": "August",
        "B.C.": "BC",
        "Dec.": "December",
        r"Eqs?(?=\.\s?\d).": "equation",
        "Feb.": "February",
        "Jan.": "January",
        r"Mar(?=\.\s\d).": "March",
        "Nov.": "November",
        "Oct.": "October",
        "Sept?.": "September",
        r"U\.S(?=\.,?\s).": "US",
        "a.k.a.": "also known as",
        "approx.": "approximately",
        "appt.": "appointment",
        "avg.": "average",
        "bn.": "billion",
        r"ca?(?=\.\s\d{3}).": "around",
        "cf.": "compare",
        r"para(?=\.\s?\d).": "paragraph",
        r"paras(?=\.\s?\d).": "paragraphs",
        r"ch(?=\.\s?\d).": "chapter",
        "dept.": "department",
        "e.g.": "for example",
        "et al.": "and others",
        "excl.": "without",
        r"ext(?=\.\s\d).": "extension",
        r"fig(?=\.\s?\d).": "figure",
        r"figs(?=\.\s?\d).": "figures",
        "govt.": "government",
        "hrs.": "hours",
        r"i\.\s?e(?<=^\W{0,2}[iI]\.\s?e).": "that is",
        "incl.": "including",
        "lbs.": "pounds",
        "max.": "maximum",
        r"min(?=\.\s\d).": "at least",
        "mins.": "minutes",
        "misc.": "various",
        "mn.": "million",
        rf"no(?<!{_ANSWERS}no)(?=\.:?\s?[\d⟦]).": "number",
        r"nos(?=\.\s?\d).": "numbers",
        r"p(?=\.\s?\d).": "page",
        "pcs.": "pieces",
        "p.a.": "per year",
        "pct.": "percent",
        "pkgs?.": "packages",
        r"pts(?<=\d\s?pts).": "points",
        r"pp(?=\.\s?\d).": "pages",
        "qty.": "quantity",
        r"sec(?=\.\s?\d).": "section",
        "secs.": "seconds",
        "temp.": "temperature",
        r"vol(?=\.\s?\d).": "volume",
        "wks.": "weeks",
        "yds.": "yards",
        "yrs.": "years",
    },
}
"""By language, patterns of abbreviations in which a point is a point, and what they stand for."""
_OWN = {
    ("de", "en"): {
        "d.h.": "i.e.",
        "Mehrwertsteuer": "VAT",
        "nach Christus": "AD",
        "vor Christus": "BC",
    },
    ("en", "de"): {"number": "Nr.", "that is": "d.h.", "US": "US"},
}
"""By pair, what the target writes for some of these words: networks make Zahl 5 of number 5."""
_MOST_BEFORE_POINT = 16
"""Characters of an abbreviation before its first point."""
_LICH = regex.compile(
    rf"(?<![{LETTERS}._/-])(?!abzgl|be?zgl|eigtl|engl|evtl|[ei][nx]kl|zzgl)"
    rf"(\p{{Ll}}{{3,}}+(?<=[bdgkptzn]l)|\p{{Lu}}\p{{Ll}}{{3,}}+(?<=[tz]l)){POINT}"
)
"""Words in -lich as they are abbreviated: betriebl. and schriftl."""
_WITHS = {"w/o": "without", "w/": "with"}
_WITH = regex.compile(r"(?<![\p{L}\p{N}/])w/o?(?=\s\p{L}{2})")
_DASH = regex.compile(r"(?<=\p{L}{2})—(?=\p{L})")
_POINT_WITHIN = regex.compile(r"(?<=(?<!\p{L})(?:\p{L}{2,4}|⟦\d\d?⟧))\.(?=,?\s[\p{Ll}\d⟦])")
"""That of an abbreviation: networks write 。 for it in Chinese."""
_LABEL_END = regex.compile(r"\.\Z(?<=^[\p{Ll}\p{N}⟦][^!?\n]{0,40}.|^\S{1,20}.)")
"""A point that ends no sentence, since the text begins as a part of one, or is no more: 5 Min."""


def enter_abbreviations(text: str, language: str, target: str = "") -> Spelled | None:
    """The stage of a sentence with abbreviations of the language, or with numbers that networks do
    not know as they are written, of the target if that is told; None without."""
    if language == "zh":
        numbers = [*_numbers(text, language, target), *find_chinese_numbers(text)]
        numbers += (*find_chinese_units(text), *find_periods(text))
        if target == "en":
            numbers += (*find_ordinals(text), *find_eras(text))
        return spell(text, [], numbers) if numbers else None
    known = _abbreviations(language)
    if known is None:
        return None
    found, numbers = [*find_days(text, language)], [*_numbers(text, language, target)]
    if "w/" in text and language == "en":
        found += (Replacement(*one.span(), _WITHS[one.group()]) for one in _WITH.finditer(text))
    if "." in text:
        found += find_numbers_of(text) if language == "de" else ()
        own = _OWN.get((language, target), {})
        for one in known.finditer(text, max(0, text.index(".") - _MOST_BEFORE_POINT)):
            word = _word(one, language)
            same = own.get(word) or own.get(word[0].lower() + word[1:])
            if (same or word) != one.group():
                space = " " if text[one.end() : one.end() + 1].isdigit() else ""
                new = Replacement(*one.span(), f"{same or word}{space}")
                (numbers if same else found).append(new)
        if language == "de":
            found += (Replacement(*one.span(), f"{one[1]}ich") for one in _LICH.finditer(text))
        if target == "zh":
            numbers += _points(text, found)
    if not (found or numbers):
        return None
    ends_label = any(_LABEL_END.match(text, one.end) for one in found + numbers)
    return dataclasses.replace(spell(text, found, numbers), _ends_label=ends_label)


def _points(text: str, found: Sequence[Replacement]) -> Iterator[Replacement]:
    """The points within an English sentence that are in nothing that was found: to leave out."""
    places = {place for start, end, _ in found for place in range(start, end)}
    points = (one.span() for one in _POINT_WITHIN.finditer(text))
    return (Replacement(*span, "") for span in points if span[0] not in places)


def _numbers(text: str, language: str, target: str) -> Iterator[Replacement]:
    """Numbers that are written in another way. They come back only in a copy of the whole text."""
    for start, end, francs, number in find_swiss_amounts(text, language):
        yield Replacement(start, end, f"{francs}{number}")
    if language == "de":
        yield from find_german_marks(text)
    yield from (Replacement(*hour[:3]) for hour in find_hours(text, language))
    if (language, target) == ("en", "de"):
        yield from (Replacement(*one.span(), " — ") for one in _DASH.finditer(text))
    if language != "zh":
        yield from (Replacement(*one) for one in find_spelled_out(text, language, target))
    yield from (Replacement(*half) for half in find_halves(text, language))
    yield from find_durations(text, language)
    yield from find_kitchen_units(text, language, target)
    yield from find_legal_sentences(text, language, target)
    yield from find_counted(text, language, target)
    yield from (Replacement(*amount[:3]) for amount in find_scaled(text, language))


@cache
def _abbreviations(language: str) -> regex.Pattern[str] | None:
    """The pattern of a language's abbreviations, a group for each. The point that also ends the
    sentence is no part of one."""
    words = _WORDS.get(language)
    if words is None:
        return None
    any_of = "|".join(f"({_pattern(abbreviation)})" for abbreviation in words)
    return regex.compile(rf"(?<![{LETTERS}._/-])(?:{any_of}){POINT}")


def _pattern(abbreviation: str) -> str:
    """The pattern without its last point; a small letter may be a capital, points have space."""
    inner = regex.sub(r"(?<=^\w|\.\w)\.(?=\w)", r"\\.\\s?", abbreviation[:-1])
    return f"[{inner[0]}{inner[0].upper()}]{inner[1:]}"


def _word(match: regex.Match[str], language: str) -> str:
    assert match.lastindex is not None
    abbreviation, word = list(_WORDS[language].items())[match.lastindex - 1]
    is_capital = abbreviation[0].islower() and match.group()[0].isupper()
    return word[0].upper() + word[1:] if is_capital else word


_DAYS_ALONE = (day for day in DAYS["de"] if day != "So")
_WORDS_ALONE = (
    one for words in _WORDS.values() for one in words if one[:-1].replace("?", "").isalpha()
)
LONE = "|".join([*_DAYS_ALONE, *map(_pattern, _WORDS_ALONE)])
"""The pattern of those that are one word, without their points."""
