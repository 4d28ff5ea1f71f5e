"""Attributes with text, such as alt and title."""

from __future__ import annotations

import regex

from service.translation.markup.elements import is_known

_ATTRIBUTE = regex.compile(r"""[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]++))?+""")
_TEXT_ATTRIBUTES = ("alt", "title", "placeholder", "aria-label")
_COMPONENT = regex.compile(r"<[A-Z]\w*?[a-z]")
_COMPONENT_ATTRIBUTES = (
    *("caption", "description", "heading", "label", "subtitle", "summary", "text"),
    *_TEXT_ATTRIBUTES,
)
"""Of elements that HTML does not know and whose names are written as those of components."""
_MARKED_ATTRIBUTES = {
    **dict.fromkeys(("optgroup", "option", "track"), ("label", regex.compile(r"\slabel\b"))),
    "input": (
        "value",
        regex.compile(r"""\stype\s*+=\s*+["']?(?:button|submit|reset)\b""", regex.IGNORECASE),
    ),
    "meta": (
        "content",
        regex.compile(
            r"""\s(?:name|property)\s*+=\s*+["']?(?:(?:og:|twitter:)?(?:title|description)"""
            r"""|(?:og|twitter):image:alt)\b""",
            regex.IGNORECASE,
        ),
    ),
}
"""Attributes that have text in some elements, if the tag says so."""


def text_attributes(tag: str, element: str) -> list[tuple[int, int, str]]:
    """Start and end of the values with text in a tag, and their quotes ("" for none)."""
    names: tuple[str, ...] = _TEXT_ATTRIBUTES
    if (marked := _MARKED_ATTRIBUTES.get(element)) and marked[1].search(tag):
        names = (*names, marked[0])
    if _COMPONENT.match(tag) and not is_known(element):
        names = _COMPONENT_ATTRIBUTES
    if not any(name in tag.lower() for name in names):
        return []
    found = []
    for match in _ATTRIBUTE.finditer(tag, 1):
        name, equals, value = match.group().partition("=")
        if not equals or name.strip().lower() not in names:
            continue
        value = value.lstrip()
        start = match.end() - len(value)
        quote = value[0] if value[:1] in ("'", '"') and value[-1:] == value[:1] else ""
        is_quoted = bool(quote) and len(value) > 1
        found.append((start + is_quoted, match.end() - is_quoted, quote if is_quoted else ""))
    return found
