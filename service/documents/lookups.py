"""What a table looks for in its cells: texts that formulas, lists, rules and filters name, and the
titles of columns. A cell with such a text stays, so that it is found, and so does a mark."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable

import regex

_STRING = regex.compile(r'"((?:[^"]++|"")*+)"')
_ESCAPED = regex.compile(r"_x([0-9a-fA-F]{4})_")
_CRITERION = regex.compile(r"[<>=]*+(.*)", regex.DOTALL)
_WILD = "*?~"
_MARK = regex.compile(r"(?!i)[\p{Latin}\p{Greek}\p{Cyrillic}]")
"""A letter but I, which is a word of English."""
_LEAST_INSIDE = 3
"""The characters of a text that is looked for inside others: shorter ones are in too many."""
_ANY_TAG = r'\s(?:[^<>"]++|"[^"<]*+")*+>'
CELLS_END = "sheetData>"
"""Ends the cells of a sheet, which are many; rules and filters follow."""
_EXCEL_CELL = regex.compile(r'<(?:\w+:)?f(?:\s[^<>]*+)?>(?P<formula>[^<"&]*+["&][^<]*+)<')
_EXCEL_FORMULA = regex.compile(
    r"<(?:\w+:)?(?P<name>f|formula\d?|definedName|calculatedColumnFormula|totalsRowFormula)"
    r"(?:\s[^<>]*+)?>(?P<formula>[^<]++)<"
)
_EXCEL_TAG = regex.compile(
    rf"<(?:\w+:)?(?:tableColumn|cacheField|filter|customFilter|cfRule|sortCondition){_ANY_TAG}"
)
_EXCEL_TEXT = regex.compile(r'\s(name|totalsRowLabel|val|text|customList)="([^"]*+)"')
_EXCEL_NAME = regex.compile(r'<(?:\w+:)?(?:definedName|sheet)\s[^<>]*?\bname="([^"]*+)"')
_LIST = "formula1"
_CALC_FORMULA = regex.compile(
    r'\s(?:table:formula|table:condition|table:expression|style:condition|calcext:value)="([^"]*+)"'
)
_CALC_TEXT = regex.compile(
    r"<table:(?:filter-condition|filter-set-item|data-pilot-member|data-pilot-field)(?=\s)[^<>]*?"
    r'\stable:(?:value|name|source-field-name)="([^"]*+)"'
)
_CALC_INSIDE = regex.compile(r'(?:contains-text|begins-with|ends-with)\("([^"]*+)"\)')


class Lookups:
    """The texts that a table looks for: whole ones, and some inside others."""

    def __init__(self) -> None:
        self.has_formulas = False
        self._whole: set[str] = set()
        self._inside: set[str] = set()

    def keeps(self, text: str) -> bool:
        """Whether the table looks for a text, which is escaped, or it is one letter: a mark, such
        as a ü of Wingdings."""
        folded = _folded(text)
        is_inside = bool(self._inside and self._pattern.search(folded))
        return is_inside or folded in self._whole or _MARK.fullmatch(folded) is not None

    def add(self, texts: Iterable[str]) -> None:
        """Add whole texts, which may be criteria such as `<>Yes` and `Yes*`."""
        for text in texts:
            criterion = _CRITERION.fullmatch(text)
            wanted = criterion[1] if criterion else text
            if any(sign in wanted for sign in _WILD):
                self.add_inside(wanted.strip(_WILD))
            else:
                self._whole |= {_folded(text), _folded(wanted)} - {""}

    def add_inside(self, text: str) -> None:
        """Add a text that is looked for inside others."""
        folded = _folded(text)
        if len(folded) >= _LEAST_INSIDE:
            self._inside.add(folded)

    @functools.cached_property
    def _pattern(self) -> regex.Pattern[str]:
        texts = "|".join(map(regex.escape, sorted(self._inside)))
        return regex.compile(rf"(?<!\p{{Latin}})(?:{texts})(?!\p{{Latin}})")


def _folded(text: str) -> str:
    """The text as it is compared."""
    read = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), html.unescape(text))
    return " ".join(read.casefold().split())


def _strings(formula: str) -> list[str]:
    return [string.replace('""', '"') for string in _STRING.findall(html.unescape(formula))]


def excel_lookups(sources: Iterable[str]) -> Lookups:
    """Of an Excel workbook's parts with formulas, rules and names."""
    found, names, reads_names = Lookups(), [], False
    for source in sources:
        cells, _, rest = source.rpartition(CELLS_END)
        found.has_formulas = found.has_formulas or any(tag in cells for tag in ("<f>", "<f ", ":f"))
        reads_names = reads_names or "INDIRECT(" in source
        names += _EXCEL_NAME.findall(rest)
        for cell in _EXCEL_CELL.finditer(cells):
            found.add(_strings(cell["formula"]))
        for formula in _EXCEL_FORMULA.finditer(rest):
            for text in _strings(formula["formula"]):
                found.add(text.split(",") if formula["name"] == _LIST else [text])
        for tag in _EXCEL_TAG.finditer(rest):
            _add_tag(found, tag.group())
    found.add(names if reads_names else ())
    return found


def _add_tag(found: Lookups, tag: str) -> None:
    """Add the texts of a column, filter, rule or order."""
    for name, value in _EXCEL_TEXT.findall(tag):
        text = html.unescape(value)
        found.add(text.split(",") if name == "customList" else [text])
        if name == "text":
            found.add_inside(text)


def calc_lookups(source: str) -> Lookups:
    """Of the content of an OpenDocument file."""
    found = Lookups()
    for formula in _CALC_FORMULA.findall(source):
        found.add(_strings(formula))
        for text in _CALC_INSIDE.findall(html.unescape(formula)):
            found.add_inside(text)
    found.add(map(html.unescape, _CALC_TEXT.findall(source)))
    return found
