"""Statements of SQL within a text, as in `Run DROP TABLE users now.`: networks translate them."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from model.text.spans import Span

_MAYBE = regex.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|DROP|CREATE|ALTER|TRUNCATE) ")
_SIGN = regex.compile(r"[*=;(<>]")
_NAME = r'[\w"`]++(?:\.[\w"`]++)*+'
_LIST = r"\((?:[^()\n]|\([^()\n]{0,40}\)){0,200}\)"
_VALUE = rf"(?:'[^'\n]{{0,80}}'|-?\d+(?:\.\d+)?|[:?]\w*|{_NAME}(?:{_LIST})?)"
_TEST = r"(?:[<>!]?=|<>|[<>]|LIKE\b|IS(?: NOT)?\b|(?:NOT )?IN\b)"
_CONDITION = rf"{_NAME} ?{_TEST} ?(?:{_LIST}|{_VALUE})"
_SET = rf"{_NAME} ?= ?{_VALUE}"
_WHERE = (
    rf"(?: WHERE {_CONDITION}(?: (?:AND|OR) {_CONDITION}){{0,9}})?"
    rf"(?: (?:ORDER|GROUP) BY {_NAME}(?: (?:ASC|DESC))?)?(?: LIMIT \d+)?"
)
_JOIN = rf"(?: (?:(?:INNER|LEFT|RIGHT|OUTER) )?JOIN {_NAME} ON {_NAME} ?= ?{_NAME}){{0,3}}"
_KIND = r"(?:TABLE|VIEW|INDEX|DATABASE|SCHEMA|USER)(?: IF (?:NOT )?EXISTS)?"
_STATEMENT = regex.compile(
    r"\b(?:"
    rf"SELECT (?:\*|[^;\n]{{1,200}}?) FROM {_NAME}{_JOIN}{_WHERE}"
    rf"|INSERT INTO {_NAME}(?: ?{_LIST})?(?: VALUES ?{_LIST})?"
    rf"|UPDATE {_NAME} SET {_SET}(?:, {_SET}){{0,9}}{_WHERE}"
    rf"|DELETE FROM {_NAME}{_WHERE}|TRUNCATE TABLE {_NAME}"
    rf"|(?:DROP|ALTER) {_KIND} {_NAME}|CREATE {_KIND} {_NAME}(?: ?{_LIST})?"
    r");?"
)


def find_statements(text: str) -> Iterator[Span]:
    """The statements, in order; one all in capitals needs a sign. Linear time."""
    for one in _STATEMENT.finditer(text) if _MAYBE.search(text) else ():
        if not one.group().isupper() or _SIGN.search(one.group()):
            yield Span(*one.span())
