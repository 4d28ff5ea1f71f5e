"""XLSX: what a workbook looks for stays in its cells, and everything else that people read is
translated."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from service.documents.formats import parse_file
from tests.service.documents.samples import OPTIONS, coded, member, package, texts_of, translated

SHEET, STRINGS, BOOK = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml"


def workbook(
    *cells: str,
    rows: str = "",
    sheet: str = "",
    book: str = "<sheets/>",
    more: Mapping[str, bytes] | None = None,
) -> bytes:
    """A workbook with these cells, one after another."""
    items = "".join(f"<si>{cell if '<' in cell else f'<t>{cell}</t>'}</si>" for cell in cells)
    members = {
        BOOK: f"<workbook>{book}</workbook>".encode(),
        STRINGS: f"<sst>{items}</sst>".encode(),
        SHEET: f"<worksheet><sheetData>{rows}</sheetData>{sheet}</worksheet>".encode(),
    }
    return package({**members, **(more or {})})


RULE = '<cfRule type="containsText" text="late"><formula>0</formula></cfRule>'
COLUMN = '<tableColumn id="1" name="A &amp; b_x000a_c" totalsRowLabel="All of it"/>'
TABLE = {"xl/tables/table1.xml": f"<table>{COLUMN}</table>".encode()}


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("Open", {"rows": '<c><f>COUNTIF(A:A,"Open")</f></c>'}),
        ("open", {"rows": '<c><f>IF(A1="Open",1)</f></c>'}),
        ('"Open"', {"rows": '<c><f>A1="""Open"""</f></c>'}),
        ("Open", {"rows": '<c><f>COUNTIF(A:A,"&lt;&gt;Open")</f></c>'}),
        ("Open now", {"rows": '<c><f>COUNTIF(A:A,"Open*")</f></c>'}),
        ("Very big", {"sheet": '<dataValidation><formula1>"Big,Very big"</formula1>'}),
        ("Open", {"sheet": '<filters><filter val="Open"/></filters>'}),
        ("It is open.", {"sheet": '<customFilter val="*open*"/>'}),
        ("Too late again", {"sheet": RULE}),
        ("Open", {"sheet": '<x14:cfRule><xm:f>"Open"</xm:f></x14:cfRule>'}),
        ("High", {"sheet": '<sortCondition ref="A1" customList="High,Low"/>'}),
        ("Fruit", {"book": '<sheet name="Fruit"/>', "rows": "<c><f>INDIRECT(A1)</f></c>"}),
        (
            "A &amp; b&#10;c",
            {"more": TABLE},
        ),
        (
            "<r><t>A &amp; b\n</t></r><r><rPr><b/></rPr><t>c</t></r>",
            {"more": TABLE},
        ),
        ("All of it", {"more": TABLE}),
        ("Open", {"more": {"xl/worksheets/other.xml": b'<s><c><f>A1="Open"</f></c></s>'}}),
    ],
)
def test_what_a_workbook_looks_for_stays_in_cells(cell: str, parts: dict[str, str]) -> None:
    content = workbook(cell, "The sea", **parts)  # type: ignore[arg-type]
    assert texts_of("a.xlsx", content) == ["The sea"]
    assert f"{cell}<" in member(translated("a.xlsx", content), STRINGS).decode()


@pytest.mark.parametrize("mark", ["ü", "x", "J", "<r><rPr><b/></rPr><t>P</t></r>"])
def test_a_letter_alone_is_a_mark_and_stays(mark: str) -> None:
    content = workbook(mark, "The sea", "I", "是")
    assert texts_of("a.xlsx", content) == ["The sea", "I", "是"]
    assert f"{mark}<" in member(translated("a.xlsx", content), STRINGS).decode()


def test_empty_and_short_texts_of_formulas_keep_nothing() -> None:
    content = workbook("A sea", rows='<c><f>IF(A1="",COUNTIF(A:A,"a*"))</f></c>')
    assert texts_of("a.xlsx", content) == ["A sea"]


def test_names_stay_only_where_formulas_read_them_from_cells() -> None:
    assert texts_of("a.xlsx", workbook("Fruit", book='<definedName name="Fruit"/>')) == ["Fruit"]


def test_names_in_charts_stay_with_their_cells() -> None:
    cache = (
        b"<x><c:strCache><c:pt><c:v>Open</c:v></c:pt><c:pt><c:v>Sea</c:v></c:pt></c:strCache></x>"
    )
    content = workbook(rows='<c><f>A1="Open"</f></c>', more={"xl/charts/chart1.xml": cache})
    assert texts_of("a.xlsx", content) == ["Sea"]


@pytest.mark.parametrize(
    ("source", "text", "done"),
    [
        ("&amp;CThe sea", "<0|>The sea", "&amp;CTHE SEA"),
        ("&amp;LPage &amp;P of &amp;N", "<0|>Page &amp;P of &amp;N", "&amp;LPAGE &amp;P OF &amp;N"),
        (
            '&amp;L&amp;"Arial,Bold"&amp;9 a&amp;Kff0000b',
            "<0|><1|><2|> a<3|>b",
            '&amp;L&amp;"Arial,Bold"&amp;9 A&amp;Kff0000B',
        ),
        (
            "&amp;Ra &amp;&amp; b&amp;K01+000c",
            "<0|>a & b<2|>c",
            "&amp;RA &amp;&amp; B&amp;K01+000C",
        ),
        ("&amp;P", None, None),
    ],
)
def test_headers_are_translated_and_keep_their_codes(
    source: str, text: str | None, done: str | None
) -> None:
    header = "<headerFooter><oddHeader>{}</oddHeader></headerFooter>"
    content = workbook(sheet=header.format(source))
    assert texts_of("a.xlsx", content) == ([text] if text else [])
    if done:
        assert header.format(done) in member(translated("a.xlsx", content), SHEET).decode()


def test_prompts_and_tips_are_translated_within_the_limits_of_excel() -> None:
    attributes = 'promptTitle="Title" prompt="&quot;One&quot;&#10;two" type="list"'
    content = workbook(sheet=f'<dataValidation {attributes}/><hyperlink tooltip="Go"/>')
    assert texts_of("a.xlsx", content) == ["Title", '"One"\ntwo', "Go"]
    done = member(parse_file(content, "a.xlsx", OPTIONS).write(["x" * 33, 'a"\n', "b"]), SHEET)
    expected = attributes.replace("&quot;One&quot;&#10;two", "a&quot;&#10;")
    assert f'<dataValidation {expected}/><hyperlink tooltip="b"/>' in done.decode()


@pytest.mark.parametrize("line_break", ["&#10;", "_x000a_", "_x000A_", "_x000D__x000A_"])
def test_line_breaks_of_prompts_are_line_breaks_of_their_texts(line_break: str) -> None:
    content = workbook(sheet=f'<dataValidation prompt="One{line_break}two"/>')
    assert texts_of("a.xlsx", content) == ["One\ntwo"]
    done = member(translated("a.xlsx", content), SHEET).decode()
    assert '<dataValidation prompt="ONE&#10;TWO"/>' in done


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("The sea", ["The sea"]),
        ("One &amp; two\nthree&#10;four", ["One & two<1|>three<2|>four"]),
        ("Open", []),
        ("42", []),
    ],
)
@pytest.mark.parametrize("prefix", ["", "x:"])
def test_texts_that_are_values_of_cells_are_translated(
    value: str, texts: list[str], prefix: str
) -> None:
    cell = f'<{prefix}c r="A1" t="str"><{prefix}v xml:space="preserve">{{}}</{prefix}v></{prefix}c>'
    formula = '<c><f>COUNTIF(A:A,"Open")</f><v>1</v></c>'
    content = workbook(rows=cell.format(value) + formula)
    assert texts_of("a.xlsx", content) == texts
    done = member(translated("a.xlsx", content), SHEET).decode()
    assert cell.format(value.upper().replace("&AMP;", "&amp;") if texts else value) in done


def test_results_that_are_texts_go_and_formulas_are_calculated_when_the_file_is_opened() -> None:
    text = '<c r="A1" t="str"><f>B1&amp;"!"</f><v>The sea!</v></c>'
    number = "<c><f>LEN(B1)</f><v>7</v></c>"
    content = workbook("The sea", rows=text + number, book="<sheets/><definedNames/><oleSize/>")
    done = translated("a.xlsx", content)
    assert text.replace("<v>The sea!</v>", "") + number in member(done, SHEET).decode()
    assert b'<definedNames/><calcPr fullCalcOnLoad="1"/><oleSize/>' in member(done, BOOK)
    content = workbook("The sea", rows=number, book='<sheets/><calcPr calcId="1"/>')
    done = translated("a.xlsx", content)
    assert b'<calcPr calcId="1" fullCalcOnLoad="1"/>' in member(done, BOOK)


def test_pivot_tables_of_the_workbook_are_read_anew() -> None:
    name = "xl/pivotCache/pivotCacheDefinition1.xml"
    for source, is_own in (('ref="A1:B2"', True), ('r:id="rId1"', False)):
        inner = f'<worksheetSource {source}/><cacheField name="Sea"/>'
        cache = f"<pivotCacheDefinition>{inner}</pivotCacheDefinition>".encode()
        content = workbook("Sea", "The sky", more={name: cache})
        assert texts_of("a.xlsx", content) == ["The sky"]
        done = member(translated("a.xlsx", content), name)
        assert (b'<pivotCacheDefinition refreshOnLoad="1">' in done) == is_own


def test_comments_in_threads_are_translated_without_the_places_of_names() -> None:
    name = "xl/threadedComments/threadedComment1.xml"
    comment = "<threadedComment><text>@Ann look</text><mentions><mention/></mentions>"
    more = {name: f"<x>{comment}</threadedComment></x>".encode()}
    content = workbook(rows='<c><f>A1=""</f></c>', more=more)
    assert texts_of("a.xlsx", content) == ["@Ann look"]
    assert b"</text></threadedComment>" in member(translated("a.xlsx", content), name)


def test_a_translated_cell_has_no_readings_of_its_old_characters() -> None:
    """Excel sorts by them, and they name characters by numbers that a translation may not have."""
    reading = '<rPh sb="0" eb="1"><t>うみ</t></rPh><phoneticPr fontId="1"/>'
    runs = "<r><t>海</t></r><r><rPr><b/></rPr><t>と空</t></r>"
    content = workbook(f"<t>海</t>{reading}", f"{runs}{reading}", rows='<c><f>A1="海"</f></c>')
    parsed = parse_file(content, "a.xlsx", OPTIONS)
    done = parsed.write([coded("sea <0>and sky</0>")])
    strings = member(done, STRINGS).decode()
    assert f"<si><t>海</t>{reading}</si>" in strings
    assert strings.count("<rPh") == 1


def test_what_a_workbook_looks_for_is_translated_in_comments() -> None:
    comments = {
        "xl/comments1.xml": b"<comments><comment><text><t>Open</t></text></comment></comments>"
    }
    content = workbook("Open", rows='<c><f>A1="Open"</f></c>', more=comments)
    assert texts_of("a.xlsx", content) == ["Open"]
    assert b"<t>OPEN</t>" in member(translated("a.xlsx", content), "xl/comments1.xml")


def test_spaces_between_the_parts_of_a_form_stay() -> None:
    content = workbook("Name:     Date:", "<r><t>Name:     Date:</t></r>")
    assert texts_of("a.xlsx", content) == ["Name:<0|>Date:"] * 2
    strings = member(translated("a.xlsx", content), STRINGS).decode()
    assert strings.count("     ") == 2


def test_a_text_before_the_runs_of_a_cell_is_translated_with_them() -> None:
    bold = "<r><rPr><b/></rPr><t>{}</t></r>"
    content = workbook(f'<t xml:space="preserve">The </t>{bold.format("sea")}')
    assert texts_of("a.xlsx", content) == ["The <0>sea</0>"]
    strings = member(translated("a.xlsx", content), STRINGS).decode()
    assert f'<r><t xml:space="preserve">THE </t></r>{bold.format("SEA")}' in strings
