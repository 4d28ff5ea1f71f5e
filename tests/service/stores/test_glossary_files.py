"""Glossary files: each format has the terms that CSV has, what tools write is understood, what is
damaged or hostile is refused in one sentence, and memory does not grow with a file."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.errors import DocumentTooLarge, InvalidDocument, InvalidField
from service.stores.glossary_files import CSV, TBX, XLSX, read_glossary, read_terms
from service.stores.sheets import read_sheet
from service.stores.tbx import read_tbx
from service.translation.glossary import GlossaryEntry
from tests.service.documents.samples import package
from tests.service.stores.glossary_writers import (
    WORKBOOK,
    WRITERS,
    Rows,
    comma,
    concepts,
    inline,
    shared,
    sheet_of,
    tbx_2,
    tbx_3,
    tmx,
    workbook,
)

MEBIBYTE = 2**20
PAIR = ("en", "de")


def terms(content: bytes, media_type: str, pair: tuple[str, str] = PAIR) -> list[GlossaryEntry]:
    return read_terms(io.BytesIO(content), media_type, pair)


WORDS = st.text(st.sampled_from("aB ß图<>&\"'é😀"), min_size=1, max_size=9).map(
    lambda text: " ".join(text.replace("<", "").split())
)


@pytest.mark.parametrize("name", WRITERS)
@given(rows=st.lists(st.tuples(WORDS.filter(bool), WORDS.filter(bool)), min_size=1))
@example(rows=[("a&b", "c;d"), ("x" * 50, "y")])
@example(rows=[("dog", "Hund"), ("dog", "Köter")])
def test_each_format_has_the_terms_that_csv_has(name: str, rows: list[tuple[str, str]]) -> None:
    media_type, write = WRITERS[name]
    expected = {one.source: one for one in terms(comma(rows), CSV)}
    assert {one.source: one for one in terms(write(rows), media_type)} == expected


@pytest.mark.parametrize("write", [tbx_2, tbx_3])
@pytest.mark.parametrize(
    ("pair", "concept", "expected"),
    [
        (PAIR, {"EN-us": "car, automobile", "de_DE": "Auto, Wagen"}, "car Auto, automobile Auto"),
        (PAIR, {"en": "car", "de": "Auto, Wagen preferredTerm-admn-sts"}, "car Wagen"),
        (PAIR, {"en": "car", "de": "Auto supersededTerm-admn-sts, Wagen"}, "car Wagen"),
        (PAIR, {"en": "car, auto deprecatedTerm", "de": "Auto admittedTerm"}, "car Auto"),
        (PAIR, {"en": "car", "de": "Auto Forbidden, Wagen NotRecommended"}, ""),
        (PAIR, {"en": "bike", "de-CH": "Velo preferredTerm", "de": "Fahrrad"}, "bike Fahrrad"),
        (PAIR, {"en": "bike", "de-CH": "Velo", "de-AT": "Rad"}, "bike Velo"),
        (PAIR, {"en-GB": "colour", "en-US": "color", "de": "Farbe"}, "colour Farbe, color Farbe"),
        (PAIR, {"eng": "car", "ger": "Auto"}, "car Auto"),
        (("en", "zh-Hant"), {"en": "car", "zh-CN": "汽车", "zh-TW": "汽車"}, "car 汽車"),
        (PAIR, {"en": "car", "fr": "voiture"}, ""),
        (PAIR, {"en": " ", "de": "Auto"}, ""),
    ],
)
def test_a_concepts_terms_have_the_best_translation_that_may_be_used(
    write: Callable[..., bytes], pair: tuple[str, str], concept: dict[str, str], expected: str
) -> None:
    def parted(written: str) -> list[tuple[str, str]]:
        return [(one.partition(" ")[0], one.partition(" ")[2]) for one in written.split(", ")]

    other = {pair[0]: [("other", "")], pair[1]: [("anderes", "")]}
    written = write({language: parted(one) for language, one in concept.items()}, other)
    found = terms(written, TBX, pair)
    assert found == [
        *(GlossaryEntry(*one) for one in parted(expected) if expected),
        GlossaryEntry("other", "anderes"),
    ]


IATE = """<?xml version="1.0" encoding="UTF-8"?><tbx style="dca" type="TBX-IATE" xml:lang="en"
 xmlns="urn:iso:std:iso:30042:ed-2"><tbxHeader><fileDesc><sourceDesc><p>IATE</p></sourceDesc>
</fileDesc></tbxHeader><text><body><conceptEntry id="1"><descripGrp><descrip type="subjectField"
>law</descrip></descripGrp><langSec xml:lang="de"><descripGrp><descrip type="definition">a
<hi>term</hi></descrip></descripGrp><termSec><term>Verfahren der
 gegenseitigen Anerkennung</term><termNote type="termType">fullForm</termNote><termNote
type="administrativeStatus">admittedTerm-admn-sts</termNote><descrip type="reliabilityCode">3
</descrip></termSec></langSec><langSec xml:lang="en"><termSec><term>mutual recognition procedure
</term></termSec><termSec><term>MRP</term></termSec></langSec></conceptEntry></body></text></tbx>
"""
MICROSOFT = """\ufeff<?xml version='1.0' encoding="UTF-8"?><!DOCTYPE martif SYSTEM "TBXcore.dtd">
<martif type="TBX-Default" xml:lang="en-US"><text><body><termEntry id="2"><langSet
xml:lang="en-US"><descripGrp><descrip type="definition">To remove.</descrip></descripGrp><ntig>
<termGrp><term id="3">un<hi>subscribe</hi></term><termNote type="partOfSpeech">Verb</termNote>
</termGrp></ntig></langSet><langSet xml:lang="de-DE"><ntig><termGrp><term>abbestellen</term>
<termNoteGrp><termNote type="normativeAuthorization">preferredTerm</termNote></termNoteGrp>
</termGrp></ntig></langSet></termEntry></body></text></martif>"""


def test_what_terminology_tools_write_is_read() -> None:
    german = "Verfahren der gegenseitigen Anerkennung"
    assert terms(IATE.encode("utf-8"), TBX) == [
        GlossaryEntry("mutual recognition procedure", german),
        GlossaryEntry("MRP", german),
    ]
    assert terms(MICROSOFT.encode(), TBX) == [GlossaryEntry("unsubscribe", "abbestellen")]
    utf_16 = MICROSOFT.removeprefix("\ufeff").replace("UTF-8", "utf-16").encode("utf-16")
    assert terms(utf_16, TBX) == [GlossaryEntry("unsubscribe", "abbestellen")]


@pytest.mark.parametrize(
    ("pair", "heading", "row", "expected"),
    [
        (PAIR, "Entry ID|English|Definition|German", "1|dog|pet|Hund", ("dog", "Hund")),
        (PAIR, "Englisch|Deutsch", "dog|Hund", ("dog", "Hund")),
        (PAIR, "German (Austria)|English_United States", "Hund|dog", ("dog", "Hund")),
        (PAIR, "fr|de-CH|de|en-US|EN", "chien|Hünd|Hund|x|dog", ("dog", "Hund")),
        (PAIR, "en|de|comment", "dog|Hund|a pet", ("dog", "Hund")),
        (PAIR, "en|de|", "dog", None),
        (PAIR, "en|Case_sensitive|de", "dog|TRUE|Hund", ("dog", "Hund", True)),
        (PAIR, "en|case_sensitive|de", "dog||Hund", ("dog", "Hund")),
        (PAIR, "Source|Target", "dog|Hund", ("dog", "Hund")),
        (PAIR, "cat|Katze|en|de", "dog|Hund|en|de", ("dog", "Hund")),
        (PAIR, "English|Englisch", "dog|Hund|true", ("dog", "Hund", True)),
        (PAIR, "English|angličtina", "dog|Hund", ("dog", "Hund")),
        (("en", "zh-Hant"), "English|Chinese (Simplified)|Chinese (Traditional)", "dog|a|b",
         ("dog", "b")),
        (("en", "zh"), "en|Traditional Chinese|Simplified Chinese", "dog|a|b", ("dog", "b")),
        (("en", "id"), "ID|English|Indonesian", "1|dog|anjing", ("dog", "anjing")),
        (("en", "no"), "No|en|no", "1|dog|hund", ("dog", "hund")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("write", [shared, inline, comma])
def test_a_heading_says_which_columns_have_the_languages(
    write: Callable[[Rows], bytes],
    pair: tuple[str, str],
    heading: str,
    row: str,
    expected: tuple[str, str] | None,
) -> None:
    rows = [heading.split("|"), [""], row.split("|")]
    found = terms(write(rows), CSV if write is comma else XLSX, pair)
    assert found[-1:] == ([GlossaryEntry(*expected)] if expected else [])
    assert GlossaryEntry("Source", "Target") not in found


def test_a_cell_is_what_a_reader_sees_of_it() -> None:
    strings = (
        "<sst><si><r><t>東</t></r><r><t>京</t></r><rPh sb='0' eb='2'><t>トウキョウ</t></rPh></si>"
        "<si><t>Tokyo_x000D_\n</t></si></sst>"
    )
    rows = (
        '<row r="3"><c r="A3" t="s"><v>0</v></c><c r="B3" t="s"><v>1</v></c>'
        '<c r="XFD3"><v>9</v></c></row>'
        '<row><c><v>7</v></c><c t="str"><f>A1&amp;"x"</f><v>7x</v></c></row>'
    )
    found = terms(workbook(sheet_of(rows), strings.encode()), XLSX, ("ja", "en"))
    assert found == [GlossaryEntry("東京", "Tokyo"), GlossaryEntry("7", "7x")]


BOMB = b'<!DOCTYPE sst [<!ENTITY a "b">]><sst><si><t>&a;</t></si></sst>'
ONE = sheet_of('<row><c t="s"><v>0</v></c></row>')


@pytest.mark.parametrize(
    ("media_type", "content", "told"),
    [
        (TBX, b"", "no valid XML"),
        (TBX, IATE.encode()[:-90], "no valid XML"),
        (TBX, tmx([("a", "b")]), "must be TBX, got an element 'tmx'"),
        (TBX, b'<!DOCTYPE tbx [<!ENTITY a "b">]><tbx>&a;</tbx>', "must not declare"),
        (TBX, b"<tbx>" + b"<a>" * 200, "more than 100 deep"),
        (TBX, tbx_2({"en": [("x" * 10_001, "")]}), "line 1: a term has more than 10000 characters"),
        (TBX, tbx_2({"en": [("x", "")] * 1001}), "a concept has more than 1000 terms in en"),
        (TBX, tbx_2({"EN": [("x", "")], "fr": []}), "no term from en to de; its languages: EN, fr"),
        (TBX, tbx_2({"de": [("x", "")]}), "no term from en to de; its languages: de"),
        (XLSX, b"", "no ZIP archive"),
        (XLSX, b"dog,Hund\n", "no ZIP archive"),
        (XLSX, b"\xd0\xcf\x11\xe0", "older format or is protected by a password"),
        (XLSX, shared([["dog", "Hund"]])[:-40], "no ZIP archive"),
        (XLSX, package({"word/document.xml": b"<w/>"}), "not an XLSX file"),
        (XLSX, package({"xl/workbook.xml": WORKBOOK}), "it has no xl/_rels/workbook.xml.rels"),
        (XLSX, workbook(ONE), "there is no shared text '0'"),
        (XLSX, workbook(sheet_of('<row><c t="s"><v>-1</v></c></row>')), "no shared text '-1'"),
        (XLSX, workbook(ONE, BOMB), "must not declare"),
        (
            XLSX,
            workbook(b"<a/>"),
            "xl/worksheets/sheet2.xml: line 1: the file must be a worksheet, got",
        ),
        (XLSX, shared([["x" * 10_001, "y"]]), "a cell has more than 10000 characters"),
        (XLSX, shared([["dog"]]), r"line 1 of the glossary must have .* got \['dog'\]"),
        (XLSX, shared([["a", "b", "c"]]), "be a heading that names both languages, got .*'c'"),
    ],
)
def test_what_is_damaged_or_hostile_is_refused(media_type: str, content: bytes, told: str) -> None:
    with pytest.raises((InvalidDocument, InvalidField), match=told):
        terms(content, media_type)


@pytest.mark.parametrize("kind", ["csv", "tmx", "tbx", "xlsx"])
def test_more_terms_than_a_glossary_may_have_are_refused(kind: str, tmp_path: Path) -> None:
    write = {"csv": comma, "tmx": tmx, "xlsx": inline}.get(kind, WRITERS["tbx 2"][1])
    file = tmp_path / f"terms.{kind.upper()}"
    file.write_bytes(write([(f"{number}a", "b") for number in range(4)]))
    assert len(read_glossary(file, PAIR, most=4)) == 4
    with pytest.raises(ValueError, match="must have at most 3 terms, and has more"):
        read_glossary(file, PAIR, most=3)


@pytest.mark.parametrize("name", ["tmx", "tbx 3"])
def test_a_file_of_several_languages_needs_to_know_the_source(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"terms.{name[:3]}"
    file.write_bytes(WRITERS[name][1]([("dog", "Hund")]))
    with pytest.raises(ValueError, match="several languages; name the source language"):
        read_glossary(file, ("auto", "de"))


def peak(read: Callable[[], Iterator[object]], count: int) -> int:
    """The most memory while so many are read."""
    tracemalloc.start()
    assert sum(1 for _ in read()) == count
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "terms.tbx"
    head, one, tail = tbx_3(*concepts([("dog", "Hund")])).partition(b"<conceptEntry>")
    concept = one + tail.partition(b"</text>")[0].removesuffix(b"</body>")
    file.write_bytes(head + 20_000 * concept + b"</body></text></tbx>")
    with file.open("rb") as opened:
        assert peak(lambda: read_tbx(opened, *PAIR), 20_000) < MEBIBYTE
    row = '<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>'
    packed = workbook(sheet_of(80_000 * row), b"<sst><si><t>a</t></si></sst>")
    assert peak(lambda: read_sheet(io.BytesIO(packed)), 80_000) < 3 * MEBIBYTE


def test_what_is_unpacked_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.stores.sheets._MOST_BYTES", 10)
    with pytest.raises(DocumentTooLarge, match="has .* bytes when unpacked, at most 10"):
        terms(shared([["dog", "Hund"]]), XLSX)
