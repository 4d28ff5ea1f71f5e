"""XLIFF: a target has the codes and segments of its source, and what is done stays."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidDocument
from tests.service.documents.samples import OPTIONS, texts_of, translated

FILE = "<xliff version='1.2'><file target-language='de'>{}</file></xliff>"
FILE_2 = "<xliff version='2.0' trgLang='de'><file>{}</file></xliff>"
PARTS = [
    *("a", "b c", " ", "7", "&amp;", "&#233;", "&lt;b>d&lt;/b&gt;", "&lt;/i>", "&lt;br/>"),
    *("<![CDATA[e < 7]]>", "<bx id='8'/>f<ex id='8'/>", "<ex id='8'/>", "<x id='9'/>"),
    *("<bpt id='1'>(</bpt>", "<ept id='1'>)</ept>", "<x id='START_A'/>", "<x id='CLOSE_A'/>"),
]
PAIRS = ["<g id='2'>{}</g>", "<mrk mtype='term'>{}</mrk>", "<mrk mtype='protected'>{}</mrk>"]
CONTENTS = st.recursive(
    st.lists(st.sampled_from(PARTS), max_size=5).map("".join),
    lambda inner: st.tuples(inner, st.sampled_from(PAIRS), inner).map(
        lambda both: both[0] + both[1].format(both[2])
    ),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(CONTENTS, max_size=3), st.booleans())
def test_a_target_has_the_elements_and_the_text_of_its_source(
    others: list[str], is_segmented: bool
) -> None:
    segments = ["a", *others]
    marks = (f"<mrk mtype='seg' mid='{n}'>{one}</mrk>" for n, one in enumerate(segments))
    unit = f"<source>{''.join(segments)}</source>"
    if is_segmented:
        unit += f"<seg-source>{' '.join(marks)}</seg-source>"
    done = translated("a.xlf", FILE.format(f"<trans-unit>{unit}</trans-unit>").encode())
    *_, source, target = ElementTree.fromstring(done).iterfind(".//trans-unit/*")
    assert (target.tag, _outline(target)) == ("target", _outline(source))
    assert "".join(target.itertext()).upper() == "".join(source.itertext()).upper()


@pytest.mark.parametrize(
    "code",
    [
        *("<x id='LINE_BREAK' ctype='lb'/>", "<x id='1' ctype='x-br'/>", "<x id='LINE_BREAK_1'/>"),
        *("<ph id='1' type='fmt' subType='xlf:lb'/>", "<ph id='1'>&lt;br&gt;</ph>"),
        *("<ph id='0' equiv='LINE_BREAK' disp='&lt;br/>'/>", "<x id='1'/>&lt;br />"),
    ],
)
def test_a_line_break_ends_a_text(code: str) -> None:
    unit = f"<trans-unit><source>one<g id='2'>two{code}three</g></source></trans-unit>"
    (text,) = texts_of("a.xlf", FILE.format(unit).encode())
    assert regex.sub(r"<\d/>", "", text) in ("one<0>two<1|>three</0>", "one<0>two<2|>three</0>")


@pytest.mark.parametrize("code", ["<x id='3'/>", "<g id='3'/>", "<g id='3'></g>"])
def test_an_element_without_text_is_a_code(code: str) -> None:
    unit = f"<trans-unit><source>one{code}Two</source></trans-unit>"
    assert texts_of("a.xlf", FILE.format(unit).encode()) == ["one<0/>Two"]


def _outline(element: ElementTree.Element) -> list[tuple[str, dict[str, str]]]:
    return [(one.tag, one.attrib) for one in element.iter() if one is not element]


SEGMENTED = (
    "<source>a. b.</source><seg-source><mrk mtype='seg' mid='1'>a.</mrk> <g id='1'>"
    "<mrk mtype='seg' mid='2'>b.</mrk></g></seg-source>"
)
ALL_NEW = (
    "<target><mrk mtype='seg' mid='1'>A.</mrk> <g id='1'>"
    "<mrk mtype='seg' mid='2'>B.</mrk></g></target>"
)
UNDONE = "<target state='new'><mrk mtype='seg' mid='2'>b.</mrk></target>"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("", ALL_NEW),
        ("<target/>", ALL_NEW),
        (
            "<target><mrk mtype='seg' mid='2' a='b'/> <mrk mtype='seg' mid='1'> </mrk></target>",
            "<target><mrk mtype='seg' mid='2' a='b'>B.</mrk> "
            "<mrk mtype='seg' mid='1'>A.</mrk></target>",
        ),
        (
            "<target><mrk mtype='seg' mid='1'>Z</mrk><mrk mtype='seg' mid='2'/></target>",
            "<target><mrk mtype='seg' mid='1'>Z</mrk><mrk mtype='seg' mid='2'>B.</mrk></target>",
        ),
        (UNDONE, ALL_NEW.replace("<target", "<target state='translated'")),
        ("<target><mrk mtype='seg' mid='2'/></target>", ALL_NEW),
        ("<target> <g id='1'> </g></target>", ALL_NEW),
        ("<target>Z</target>", "<target>Z</target>"),
    ],
)
def test_segments_of_a_target_are_those_of_the_same_number(target: str, expected: str) -> None:
    unit = f"<trans-unit>{SEGMENTED}%s</trans-unit><trans-unit><source>c</source>%s</trans-unit>"
    done = translated("a.xlf", FILE.format(unit % (target, "")).encode()).decode()
    assert done == FILE.format(unit % (expected, "<target>C</target>"))


def test_codes_alone_are_the_translation_of_codes_alone() -> None:
    unit = "<trans-unit><source><x id='1'/> <x id='2'/></source><target>{}</target></trans-unit>"
    other = "<trans-unit><source>a</source><target>{}</target></trans-unit>"
    done = translated("a.xlf", FILE.format(unit.format("<x id='2'/>") + other.format("")).encode())
    assert done.decode() == FILE.format(unit.format("<x id='2'/>") + other.format("A"))


def test_a_ts_file_is_that_of_qt_linguist() -> None:
    for content in (b"export const a = 1 < 2\n", b"<x/>"):
        with pytest.raises(InvalidDocument, match="not a TS file of Qt Linguist"):
            texts_of("a.ts", content)


@pytest.mark.parametrize(
    ("state", "is_done"),
    [
        *(("new", False), ("needs-translation", False), ("translated", True), ("final", True)),
        *(("needs-review-translation", True), ("signed-off", True)),
    ],
)
def test_a_state_says_whether_a_target_is_a_translation(state: str, is_done: bool) -> None:
    unit = f"<trans-unit><source>a</source><target state='{state}'>a</target></trans-unit>"
    content = FILE.format(unit).encode()
    done = content.replace(f"'{state}'>a".encode(), b"'translated'>A")
    assert translated("a.xlf", content) == (content if is_done else done)
    assert texts_of("a.xlf", content, replace(OPTIONS, replaces=True)) == ["a"]


def test_the_states_of_xliff_2_are_those_of_segments() -> None:
    segment = "<segment state='{}'><source>a</source><target>{}</target></segment>"
    both = FILE_2.format(segment + segment)
    done = translated("a.xlf", both.format("initial", "a", "translated", "Z").encode()).decode()
    assert done == both.format("translated", "A", "translated", "Z")


@pytest.mark.parametrize(
    ("unit", "texts"),
    [
        ("<group translate='no'><{0}/><{0} translate='yes'/></group><{0}/>", ["1", "2"]),
        ("<group translate='no'><group translate='yes'><{0}/></group><{0}/></group>", ["0"]),
        ("<group translate='yes'><{0} translate='no'/><{0}/></group>", ["1"]),
    ],
)
def test_an_elements_own_word_on_translation_wins(unit: str, texts: list[str]) -> None:
    name, closing = "trans-unit", "</trans-unit>"
    written = unit.format(name).replace("/>", "><source>a{}</source>" + closing)
    content = FILE.format(written.format(0, 1, 2))
    assert texts_of("a.xlf", content.encode()) == [f"a{number}" for number in texts]


def test_the_namespace_tells_the_version_that_no_attribute_does() -> None:
    named = "xmlns='urn:oasis:names:tc:xliff:document:{}'"
    units = (
        (FILE, "1.2", "<trans-unit><source>a</source></trans-unit>"),
        (FILE_2, "2.0", "<unit><segment><source>a</source></segment></unit>"),
    )
    for file, version, unit in units:
        content = file.replace(f"version='{version}'", named.format(version)).format(unit)
        assert b"A</target>" in translated("a.xlf", content.encode())


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_older_versions_have_the_same_units(version: str) -> None:
    content = "<!DOCTYPE xliff SYSTEM 'xliff.dtd'>" + FILE.replace("1.2", version)
    unit = "<trans-unit><source>a</source></trans-unit>"
    assert b"<target>A</target>" in translated("a.xlf", content.format(unit).encode())


@pytest.mark.parametrize("file", [FILE, FILE_2])
@pytest.mark.parametrize(
    ("named", "expected"),
    [("fr", "de"), ("", "de"), ("de", "de"), ("de-AT", "de-AT"), ("de_DE", "de_DE")],
)
def test_the_targets_language_is_named(file: str, named: str, expected: str) -> None:
    unit = "<trans-unit><source>a</source></trans-unit>"
    if file == FILE_2:
        unit = unit.replace("trans-unit", "segment")
    done = translated("a.xlf", file.replace("'de'", f"'{named}'").format(unit).encode()).decode()
    assert f"'{expected}'" in done


def test_translations_in_another_language_stay_alone() -> None:
    units = (
        "<trans-unit><source>a</source>{}</trans-unit><trans-unit><source>b</source></trans-unit>"
    )
    content = FILE.replace("'de'", "'fr'").format(units.format("<target>z</target>")).encode()
    with pytest.raises(InvalidDocument, match="language of the file's translations, 'fr'.* 'de'"):
        translated("a.xlf", content)
    done = translated("a.xlf", content, replace(OPTIONS, replaces=True))
    assert done == content.replace(b"'fr'", b"'de'").replace(b"z", b"A").replace(
        b"b</source>", b"b</source><target>B</target>"
    )


@pytest.mark.parametrize(
    ("source", "texts", "target"),
    [
        ("2024", ["z"], "2024"),
        ("<x id='1'/> ", ["z"], "<x id='1'/> "),
        ("&lt;b&gt;a&lt;/b> &amp; &quot;", ['<b>a</b> & "', "z"], "&lt;b>A&lt;/b> &amp; &quot;"),
        ("<![CDATA[a <b>c]]>", ["a <b>c", "z"], "<![CDATA[A <b>C]]>"),
        ("a\n\t\tb", ["a\nb", "z"], "A\nB"),
        ("&lt;b>a&lt;/b><x/>", ["<0>a</0><1/>", "z"], "&lt;b>A&lt;/b><x/>"),
        ("<bpt/>a<g><ept/></g>", ["<0/>a<1><2/></1>", "z"], "<bpt/>A<g><ept/></g>"),
    ],
)
def test_how_texts_are_read_and_written(source: str, texts: list[str], target: str) -> None:
    unit = "<trans-unit><source>{}</source>{}</trans-unit>"
    last = "<trans-unit><source>z</source>{}</trans-unit>"
    content = FILE.format(unit.format(source, "") + last.format(""))
    assert texts_of("a.xlf", content.encode()) == texts
    done = translated("a.xlf", content.encode()).decode()
    expected = unit.format(source, f"<target>{target}</target>")
    assert done == FILE.format(expected + last.format("<target>Z</target>"))


def test_white_space_that_is_preserved_parts_texts() -> None:
    unit = "<trans-unit xml:space='preserve'><source>a    b\n c\td e</source></trans-unit>"
    assert texts_of("a.xlf", FILE.format(unit).encode()) == ["a<0|>b<1|> c<2|>d e"]
    kept = unit.replace("<source>", "<source xml:space='default'>")
    assert texts_of("a.xlf", FILE.format(kept).encode()) == ["a    b\nc\td e"]
