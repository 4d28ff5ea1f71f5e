"""Spoons and pounds of recipes, feet, inches and degrees, as the target writes them: 2 EL are
2 tbsp. Networks copy EL, make 2-Tabellen of 2 tablespoons, 10 herein of 10 in, and 2 垃圾, which is
rubbish, of 2 tbsp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import regex

from service.translation.language.chinese import to_simplified
from service.translation.markup.flow import MARK
from service.translation.sentence.replaced import Replacement

_NAMES = {
    ("de", "en"): {
        "tbsp": r"EL|Essl(?:öffeln?|\.)",
        "tsp": r"TL|Teel(?:öffeln?|\.)",
        "pinch": r"Prisen?",
    },
    ("en", "de"): {
        "EL": r"(?i:tbsps?|tbs|tablespoons?)",
        "TL": r"(?i:tsps?|teaspoons?)",
        "Pfund": r"lbs?",
        "Fuß": "ft",
        "Zoll": r"in(?:(?<=(?:ft|feet)\.? \d\d? in)|(?=\.?$|\.?,? ?[x×]))",
        "Yards": r"yds?(?!\.)",
        "Stück": r"pcs(?!\.)",
        "Punkte": r"pts(?!\.)",
    },
    ("zh", "en"): {
        "tbsp": r"汤匙|大[匙勺]",
        "tsp": r"茶匙|小[匙勺]",
        "°C": "摄氏度",
        "°F": "华氏度",
    },
    ("en", "zh"): {
        "汤匙": r"(?i:tbsps?|tbs|tablespoons?)",
        "茶匙": r"(?i:tsps?|teaspoons?)",
        "盎司": r"ounces?",
        "磅": r"lbs?",
        "加仑": r"gal(?:lons?)?",
        "码": r"yds?",
        "摄氏度": r"(?:degrees?\s)?Celsius|degrees?\sC",
        "华氏度": r"(?:degrees?\s)?Fahrenheit|degrees?\sF",
        "英尺": r"-foot|ft|feet",
        "英寸": r"-?inch(?:es)?|in(?<=(?:ft\.?|feet)\s\d\d?\sin)",
    },
}
"""By pair, what the target writes and how the source does."""
_ANY_OF = {
    pair: "|".join(f"({names})" for names in units.values()) for pair, units in _NAMES.items()
}
_PATTERNS = {
    pair: regex.compile(
        rf"(?<=[0-9½⅓⅔¼¾⟧{MARK}])\s?\K(?:{any_of})(?![\p{{Latin}}\d-])(?:\.(?=\s\p{{Ll}}))?"
    )
    for pair, any_of in _ANY_OF.items()
}
_NUMBER_END = regex.compile(r"[\p{N}一二两三四五六七八九十百千万半几]\s?\Z")


def find_kitchen_units(text: str, source: str, target: str) -> Iterator[Replacement]:
    """Those behind a number. Linear time."""
    pattern = _PATTERNS.get((source, target))
    for found in pattern.finditer(text) if pattern else ():
        space = "" if text[found.start() - 1].isspace() else " "
        assert found.lastindex is not None
        unit = [*_NAMES[source, target]][found.lastindex - 1]
        yield Replacement(*found.span(), f"{space}{unit}")


def parted_units(text: str, translation: str, pair: tuple[str, str]) -> int:
    """How many of these units of a text have no number before them in the translation."""
    wanted = Counter(unit.new.strip() for unit in find_kitchen_units(text, *pair))
    translation = to_simplified(translation) if wanted else ""
    return sum(max(0, count - _num_measured(unit, translation)) for unit, count in wanted.items())


def _num_measured(unit: str, translation: str) -> int:
    """How often the unit stands behind a number."""
    heads = translation.split(unit)[:-1]
    return sum(_NUMBER_END.search(head[-2:]) is not None for head in heads)
