"""The header of a PO file: what a template leaves open is filled in for the target language."""

from __future__ import annotations

from typing import NamedTuple

import regex

from service.documents.segments import Edit

_HEADER = regex.compile(
    r"^msgid[ \t]*+\"\"[ \t]*+(?P<line_end>\r?\n)"
    r"[ \t]*+msgstr[ \t]*+(?P<strings>\"[^\n]*+(?:\n[ \t]*+\"[^\n]*+)*+)",
    regex.MULTILINE,
)
_FIELD = regex.compile(r"(?<=\"|\\n)(?P<name>Language|Plural-Forms):(?P<value>[^\"\\\n]*+)")
_CHARSET = regex.compile(r"(?<=charset=)CHARSET\b")
_NUMBER_OF_FORMS = regex.compile(r"nplurals\s*+=\s*+([1-6])\b")
_LINE_END = r"\n"
"""Of a field, as a string of PO writes it."""


class PoHeader(NamedTuple):
    """`edits` fill it in; `num_forms`: of each plural then, None if it is unknown."""

    edits: list[Edit]
    num_forms: int | None


def read_header(text: str, language: str, *, is_begun: bool, has_plurals: bool) -> PoHeader:
    """The header for a translation into this language. If the file `is_begun`, its translations
    have the language that it names."""
    header = _HEADER.search(text)
    if header is None:
        return PoHeader([], None)
    fields = {match["name"]: match for match in _FIELD.finditer(text, *header.span("strings"))}
    values = {name: match["value"].strip() for name, match in fields.items()}
    named, forms = values.get("Language", ""), values.get("Plural-Forms", "")
    new = {}
    if is_other := not is_begun and not _is_near(named, language):
        new["Language"] = language.replace("-", "_")
    is_missing = not forms and has_plurals and not is_begun
    if "INTEGER" in forms or is_missing or (forms and named and is_other):
        forms = new["Plural-Forms"] = _plural_forms(language) or forms
    edits = [_edit(header, fields.get(name), name, value) for name, value in new.items()]
    charsets = _CHARSET.finditer(text, *header.span("strings"))
    edits += (Edit(*charset.span(), "UTF-8") for charset in charsets)
    number = _NUMBER_OF_FORMS.search(forms)
    return PoHeader(edits, int(number[1]) if number else None)


def _edit(header: regex.Match[str], field: regex.Match[str] | None, name: str, value: str) -> Edit:
    """Gives the header's field a value; a new field stands last."""
    if field:
        return Edit(*field.span("value"), f" {value}")
    strings = header["strings"].rstrip()
    end = header.start("strings") + len(strings)
    before = "" if strings.endswith((f'{_LINE_END}"', '""')) else _LINE_END
    return Edit(end, end, f'{header["line_end"]}"{before}{name}: {value}{_LINE_END}"')


def _is_near(named: str, language: str) -> bool:
    from model.text.tags import nearest  # langcodes takes 25 ms to import

    return nearest(named.replace("_", "-"), [language]) is not None


def _plural_forms(language: str) -> str | None:
    """The field's value for a language, or None if it is not known."""
    from babel import UnknownLocaleError
    from babel.messages.plurals import get_plural

    try:
        return get_plural(language.replace("-", "_")).plural_forms
    except (UnknownLocaleError, ValueError):
        return None
