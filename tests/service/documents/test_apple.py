"""Apple's .strings, .stringsdict and .xcstrings: keys stay, and Xcode's layout is kept."""

from __future__ import annotations

import json
import plistlib
from dataclasses import replace
from typing import Any

import pytest

from service.documents.formats import parse_file
from service.documents.segments import FileOptions
from service.errors import InvalidDocument
from tests.service.documents.samples import (
    OPTIONS,
    STRINGSDICT,
    XCSTRINGS,
    texts_of,
    translated,
)


@pytest.mark.parametrize(
    ("entry", "text", "translation", "expected"),
    [
        ('"a" = "b";', "b", "c", '"a" = "c";'),
        ("a=b;", "b", 'c "d"', r'a="c \"d\"";'),
        (r'"a" = "b \"c\" \\ \n\t";', 'b "c" \\ \n\t', 'd\n"\\', r'"a" = "d\n\"\\";'),
        (r'"a" = "\U00e9\Ud83d\Ude00 \101";', "é😀 A", "é", '"a" = "é";'),
        ('/* "x" = "y"; */ "a" /**/ = // z\n "b"\n;', "b", "c", None),
        ('"a" = "two\nlines";', "two\nlines", "c\nd", r'"a" = "c\nd";'),
        ('"http://a" = "b // c";', "b // c", "d", '"http://a" = "d";'),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_values_of_strings(
    entry: str, text: str, translation: str, expected: str | None, encoding: str
) -> None:
    content = f'\n{entry}\n"n" = "42";\n"k";\n'
    parsed = parse_file(content.encode(encoding), "a.strings", OPTIONS)
    assert [segment.text for segment in parsed.segments] == [text]
    done = parsed.write([translation]).decode(encoding)
    assert done == content.replace(entry, expected or entry.replace('"b"', '"c"'))


@pytest.mark.parametrize(
    "content", [b'"a" = "b"', b'"a" = ;', b'"a = b;', b"\n{ a = b; }", b"/* a"]
)
def test_what_is_no_strings_file_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidDocument, match=r"not valid \.strings: line"):
        parse_file(content, "a.strings", OPTIONS)


@pytest.mark.parametrize("kind", [plistlib.FMT_XML, plistlib.FMT_BINARY])
def test_a_property_list_is_refused_as_such(kind: plistlib.PlistFormat) -> None:
    content = plistlib.dumps({"a": "B"}, fmt=kind)
    with pytest.raises(InvalidDocument, match="it is a property list"):
        parse_file(content, "a.strings", OPTIONS)


def test_the_forms_of_a_stringsdict_are_texts() -> None:
    texts = ["Only %#@files@ left", "%lu file & more", "%lu files", "Help", "Read the help"]
    assert texts_of("a.stringsdict", STRINGSDICT) == texts
    before, after = (
        str(plistlib.loads(content))
        for content in (STRINGSDICT, translated("a.stringsdict", STRINGSDICT))
    )
    for text in texts:
        before = before.replace(f"'{text}'", f"'{text.upper()}'")
    assert after == before


def test_what_is_no_stringsdict_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="no element <plist>"):
        parse_file(b"<resources/>", "a.stringsdict", OPTIONS)


def _catalogue(entries: dict[str, Any]) -> bytes:
    catalogue = {"sourceLanguage": "en", "strings": entries, "version": "1.0"}
    return json.dumps(catalogue, indent=2, separators=(",", " : ")).encode()


def _unit(value: str, state: str = "translated") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": value}}


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"comment": "a"},
        {"shouldTranslate": True},
        {"extractionState": "manual", "localizations": {}},
        {"localizations": {"ar": _unit("a"), "fr": _unit("b")}, "shouldTranslate": True},
        {"localizations": {"fr": _unit("b")}},
        {"localizations": {"ar": _unit("a")}},
        {"localizations": {"de": _unit("Two words", "new")}},
    ],
)
@pytest.mark.parametrize("is_compact", [False, True])
def test_a_translation_is_one_more_localization(entry: dict[str, Any], is_compact: bool) -> None:
    """Where Xcode itself would write it."""
    content = _catalogue({"Two words": entry, "last": {"shouldTranslate": False}})
    if is_compact:
        content = json.dumps(json.loads(content), separators=(",", ":")).encode()
    done = translated("a.xcstrings", content)
    unit = _unit("TWO WORDS", "needs_review")
    localizations = dict(sorted({**entry.get("localizations", {}), "de": unit}.items()))
    expected = dict(sorted({**entry, "localizations": localizations}.items()))
    read = json.loads(done)
    assert json.dumps(read["strings"]["Two words"]) == json.dumps(expected)
    assert json.loads(content)["strings"].keys() == read["strings"].keys()
    if is_compact:
        assert done == json.dumps(read, separators=(",", ":")).encode()
    else:
        assert done == json.dumps(read, indent=2, separators=(",", " : ")).encode()


def test_variations_are_copied_and_their_texts_translated() -> None:
    strings = json.loads(translated("a.xcstrings", XCSTRINGS))["strings"]
    plural = strings["files"]["localizations"]["de"]["variations"]["plural"]
    assert {form: unit["stringUnit"]["value"] for form, unit in plural.items()} == {
        "one": "%LLD FILE",
        "other": "%LLD FILES",
    }


@pytest.mark.parametrize(
    "entry",
    [
        {"shouldTranslate": False},
        {"extractionState": "stale"},
        {"localizations": {"de": _unit("a")}},
        {"localizations": {"en": _unit("42")}},
    ],
)
def test_what_is_done_or_not_to_be_translated_stays(entry: dict[str, Any]) -> None:
    assert texts_of("a.xcstrings", _catalogue({"A text": entry, "42": {}})) == []


def test_half_of_a_pair_of_surrogates_is_no_text_and_stays_an_escape() -> None:
    forms = {"one": _unit("A \ud83d day"), "other": _unit("Days")}
    content = _catalogue({"B \ud83d": {}, "days": {"localizations": {"en": {"plural": forms}}}})
    read = json.loads(translated("a.xcstrings", content))["strings"]
    new = read["days"]["localizations"]["de"]["plural"]
    assert [new[form]["stringUnit"]["value"] for form in forms] == ["A \ud83d day", "DAYS"]
    assert read["B \ud83d"] == {}


def test_with_replaces_a_localization_is_written_anew() -> None:
    content = _catalogue({"A text": {"localizations": {"de": _unit("a")}}})
    done = translated("a.xcstrings", content, replace(OPTIONS, replaces=True))
    assert done == content.replace(b'"translated"', b'"needs_review"').replace(b'"a"', b'"A TEXT"')


def test_the_target_is_spelled_as_in_the_catalogue() -> None:
    content = _catalogue({"A": {"localizations": {"zh-Hans": _unit("x")}}, "Two": {}})
    done = json.loads(translated("a.xcstrings", content, FileOptions("en", "zh")))
    assert list(done["strings"]["Two"]["localizations"]) == ["zh-Hans"]


@pytest.mark.parametrize(
    "content", [b"[]", b"{}", b'{"strings": {}}', b'{"sourceLanguage": "en", "strings": {"a": 1}}']
)
def test_other_json_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidDocument, match="not as Xcode writes it"):
        parse_file(content, "a.xcstrings", OPTIONS)
