"""PO, XLIFF, TS, JSON and .properties: what is asked for is filled in, all else stays."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import polib
import pytest

from service.errors import InvalidDocument
from tests.service.translation.documents.samples import (
    OPTIONS,
    PO,
    parse_file,
    texts_of,
    translated,
)

ALL = replace(OPTIONS, replaces=True)


def test_gettext_and_polib_read_a_translated_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_bytes(translated("a.po", PO.replace(b"%d", b"")))
    entries = {entry.msgid: entry for entry in polib.pofile(str(path))}
    assert entries[" file"].msgstr_plural == {0: " FILE", 1: " FILES"}
    assert entries[" file"].msgctxt == "menu"
    assert entries["Close the window"].fuzzy
    assert entries["gone"].obsolete
    if msgfmt := shutil.which("msgfmt"):
        subprocess.run([msgfmt, "--check-format", "-o", "/dev/null", str(path)], check=True)


@pytest.mark.parametrize(
    "content",
    [
        'msgid "a',
        'msgid "a"\n',
        'msgstr ""\nmsgstr ""',
        "/etc/passwd",
    ],
)
def test_what_is_no_catalogue_is_refused(content: str) -> None:
    with pytest.raises(InvalidDocument):
        parse_file(content.encode(), "a.po", OPTIONS)


XLIFF = "<xliff version='1.2'><file><trans-unit>{}</trans-unit></file></xliff>"


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("<source>a</source>", "<source>a</source><target>A</target>"),
        ("<source>a</source><target x='y' />", "<source>a</source><target x='y'>A</target>"),
        (
            "<source>a <bpt id='1'>&lt;b></bpt>b<ept id='1'>&lt;/b></ept></source>",
            "<source>a <bpt id='1'>&lt;b></bpt>b<ept id='1'>&lt;/b></ept></source>"
            "<target>A <bpt id='1'>&lt;b></bpt>B<ept id='1'>&lt;/b></ept></target>",
        ),
        ("<source>42</source>", "<source>42</source>"),
        (
            "<source><mrk translate='no'>x</mrk> a</source>",
            "<source><mrk translate='no'>x</mrk> a</source>"
            "<target><mrk translate='no'>x</mrk> A</target>",
        ),
    ],
)
def test_targets_are_written_from_sources(unit: str, expected: str) -> None:
    done = translated("a.xlf", XLIFF.format(unit).encode()).decode()
    assert done.replace(' target-language="de"', "") == XLIFF.format(expected)
    assert ("target-language" in done) == (unit != expected)


def test_a_key_of_json_that_begins_with_a_sign_keeps_its_value_and_no_other() -> None:
    content = b'{"@a": {"b": "no", "c": ["no"]}, "d": "yes", "$e": "no", "f": ["yes"]}'
    assert texts_of("a.json", content) == ["yes", "yes"]


@pytest.mark.parametrize(
    "value",
    ["a", {"a": ["b", {"c": "d"}, []], "e": {}}, [[[]], {"": "x"}], '\u00e9\n"\\/', "😀 a", 1.5],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_written_as_it_was(value: object, indent: int | None) -> None:
    for is_ascii in (True, False):
        content = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
        done = translated("a.json", content.encode()).decode()
        assert json.loads(done) == _upper(value)
        assert done.isascii() or not is_ascii
        assert len(done.splitlines()) == len(content.splitlines())


def _upper(value: object) -> object:
    if isinstance(value, dict):
        return {key: _upper(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_upper(one) for one in value]
    return value.upper() if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("line", "text", "translation", "expected"),
    [
        ("a=b", "b", "c", "a=c"),
        ("a b", "b", " x", "a \\ x"),
        ("a={0} it''s", "{0} it's", "{0} l'a", "a={0} l''a"),
    ],
)
def test_values_of_properties(line: str, text: str, translation: str, expected: str) -> None:
    content = f"# c = d\n\n{line}\nn=1\n"
    parsed = parse_file(content.encode(), "a.properties", OPTIONS)
    assert [segment.text for segment in parsed.segments] == [text]
    assert parsed.write([translation]).decode() == content.replace(line, expected)


def test_values_of_programs_stay() -> None:
    assert texts_of("a.json", b'["true", "false", "null", "42", "True story"]') == ["True story"]
    assert texts_of("a.properties", b"a=true\nb= False\nc=8080\nd=#fff\n") == ["#fff"]
