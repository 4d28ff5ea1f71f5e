"""Spoons and pounds of recipes, and feet, as the target writes them: 2 EL are 2 tbsp. Networks copy
EL, and make 2-Tabellen of 2 tablespoons, and 2 垃圾, which is rubbish, of 2 tbsp."""

from __future__ import annotations

from collections.abc import Iterator

import regex

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
    },
    ("zh", "en"): {"tbsp": r"汤匙|大[匙勺]", "tsp": r"茶匙|小[匙勺]"},
    ("en", "zh"): {
        "汤匙": r"(?i:tbsps?|tbs|tablespoons?)",
        "茶匙": r"(?i:tsps?|teaspoons?)",
        "盎司": r"ounces?",
        "磅": r"lbs?",
        "加仑": r"gal(?:lons?)?",
        "码": r"yds?",
        "英尺": r"-foot|ft|feet",
        "英寸": r"-inch|(?:inches|in)(?<=(?:ft\.?|feet)\s\d\d?\sin(?:ches)?)",
    },
}
"""By pair, what the target writes and how the source does."""
_ANY_OF = {
    pair: "|".join(f"(?P<{new}>{names})" for new, names in units.items())
    for pair, units in _NAMES.items()
}
_PATTERNS = {
    pair: regex.compile(
        rf"(?<=[0-9½⅓⅔¼¾⟧{MARK}])\s?\K(?:{any_of})(?![\p{{Latin}}\d-])(?:\.(?=\s\p{{Ll}}))?"
    )
    for pair, any_of in _ANY_OF.items()
}


def find_kitchen_units(text: str, source: str, target: str) -> Iterator[Replacement]:
    """Those behind a number. Linear time."""
    pattern = _PATTERNS.get((source, target))
    for found in pattern.finditer(text) if pattern else ():
        space = "" if text[found.start() - 1].isspace() else " "
        yield Replacement(*found.span(), f"{space}{found.lastgroup}")
