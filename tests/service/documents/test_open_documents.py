"""ODT, ODP and ODS: what tables look for stays in cells, and masters and choices are translated."""

from __future__ import annotations

import pytest

from service.documents.formats import parse_file
from service.errors import InvalidDocument
from tests.service.documents.samples import (
    OPTIONS,
    archive,
    coded,
    member,
    texts_of,
    translated,
)

NAMES = " ".join(
    f'xmlns:{name}="{name}"'
    for name in (
        "text",
        "table",
        "office",
        "style",
        "calcext",
        "draw",
        "presentation",
        "svg",
        "dc",
        "form",
        "fo",
    )
)
CELL = "<table:table-cell {}><text:p>{}</text:p></table:table-cell>"
STRING = 'office:value-type="string"'


def content_of(*parts: str) -> bytes:
    return archive({"content.xml": f"<x {NAMES}>{''.join(parts)}</x>".encode()})


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        (CELL.format('office:value-type="date"', "May 1"), ""),
        (CELL.format('office:value-type="boolean"', "TRUE"), ""),
        (CELL.format('table:formula="of:=[.A1]"', "x"), ""),
        (CELL.format(STRING, "Open"), '<c table:formula="of:=[.A1]=&quot;Open&quot;"/>'),
        (
            CELL.format(STRING, "Big"),
            '<c table:condition="of:cell-content-is-in-list(&quot;Big&quot;;&quot;Small&quot;)"/>',
        ),
        (
            CELL.format(STRING, "<text:span>O</text:span>pen"),
            '<c calcext:value="=&quot;Open&quot;"/>',
        ),
        (CELL.format(STRING, "Too late"), '<c calcext:value="contains-text(&quot;late&quot;)"/>'),
        (CELL.format(STRING, "ü"), ""),
        (CELL.format(STRING, "Open"), '<table:filter-set-item table:value="Open"/>'),
    ],
)
def test_numbers_and_what_tables_look_for_stay_in_cells(cell: str, parts: str) -> None:
    content = content_of(cell, parts, CELL.format(STRING, "The sea"))
    assert texts_of("a.ods", content) == ["The sea"]
    assert cell in member(translated("a.ods", content), "content.xml").decode()


@pytest.mark.parametrize("name", ["text:deletion", "table:deletion", "table:previous"])
@pytest.mark.parametrize("ending", ["odt", "odp", "ods"])
def test_what_tracked_changes_took_out_stays(name: str, ending: str) -> None:
    deleted = f"<{name}><text:p>the dog</text:p><text:h>old</text:h></{name}>"
    insertion = "<text:insertion><office:change-info/></text:insertion>"
    changes = f"<text:tracked-changes>{deleted}{insertion}</text:tracked-changes>"
    content = content_of(changes, "<text:p>The sea</text:p>")
    assert texts_of(f"a.{ending}", content) == ["The sea"]
    assert changes in member(translated(f"a.{ending}", content), "content.xml").decode()


def test_results_of_formulas_that_are_texts_go() -> None:
    formula = '<table:table-cell table:formula="of:=[.A1]&amp;1"'
    values = f' {STRING} office:string-value="a1" calcext:value-type="string"'
    note = "<office:annotation><text:p>{}</text:p></office:annotation>"
    cell = f"{formula}{values}>{note.format('note')}<text:p>a1</text:p></table:table-cell>"
    content = content_of(CELL.format(STRING, "sea"), cell)
    assert texts_of("a.ods", content) == ["sea", "note"]
    done = member(translated("a.ods", content), "content.xml").decode()
    assert f"{formula}>{note.format('NOTE')}</table:table-cell>" in done
    assert values in member(translated("a.odt", content), "content.xml").decode()


def test_a_translated_cell_has_no_other_text_to_show() -> None:
    value = f'{STRING} office:string-value="{{}}"'
    looked_for = '<c calcext:value="=&quot;Open&quot;"/>'
    kept = CELL.format(value.format("Open"), "Open")
    empty = f"<table:table-cell {value.format('a')}/>"
    content = content_of(kept, CELL.format(value.format("a b"), "a b"), empty, looked_for)
    done = member(translated("a.ods", content), "content.xml").decode()
    assert f">{kept}{CELL.format(STRING, 'A B')}{empty}" in done


def test_what_masters_show_is_translated_and_their_prompts_stay() -> None:
    frame = "<draw:frame{}><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    prompt = frame.format(' presentation:class="title"', "Click here")
    styles = f"<x {NAMES}>{prompt}{frame.format('', 'Own')}</x>".encode()
    footer = "<presentation:footer-decl>Foot</presentation:footer-decl>"
    content = f"<x {NAMES}>{footer}</x>".encode()
    assert texts_of("a.odp", archive({"content.xml": content, "styles.xml": styles})) == [
        "Foot",
        "Own",
    ]


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        *(("odt", "text"), ("odp", "presentation")),
        *(("ods", "spreadsheet"), ("ods", "spreadsheet-template")),
    ],
)
def test_a_flat_document_is_translated_as_an_archive_with_its_parts(ending: str, kind: str) -> None:
    frame = '<draw:frame presentation:class="title"><text:p>{}</text:p></draw:frame>'
    formula = CELL.format(f'{STRING} table:formula="of:=&quot;Yes&quot;"', "a result")
    title = "<dc:title>A title</dc:title><dc:language>en-US</dc:language>"
    prompt = frame.format("a prompt") if kind == "presentation" else ""
    parts = {
        "meta.xml": f"<office:meta>{title}</office:meta>",
        "styles.xml": f"<office:master-styles>{prompt}<text:p>own</text:p></office:master-styles>",
        "content.xml": f"<office:body>{frame.format('sea')}{formula}"
        f"{CELL.format(STRING, 'Yes')}<svg:title>a picture</svg:title></office:body>",
    }
    made = archive({name: f"<x {NAMES}>{part}</x>".encode() for name, part in parts.items()})
    done = [member(translated(f"a.{ending}", made), name).decode() for name in parts]
    inner = "".join(part.removeprefix(f"<x {NAMES}>").removesuffix("</x>") for part in done)
    media_type = f'office:mimetype="application/vnd.oasis.opendocument.{kind}"'
    flat = f"<office:document {NAMES} {media_type}>{{}}</office:document>"
    content = flat.format("".join(parts.values())).encode()
    assert translated(f"a.f{ending}", content).decode() == flat.format(inner)
    with pytest.raises(InvalidDocument, match="no office:document"):
        parse_file(b"<x/>", f"a.f{ending}", OPTIONS)


def test_alternative_texts_are_translated_and_cut_no_sentence() -> None:
    frame = "<draw:frame><svg:title>{}</svg:title></draw:frame>"
    content = content_of(f"<text:p>see {frame.format('A &amp; b')} there</text:p>")
    assert texts_of("a.odt", content) == ["see <0/> there", "A & b"]
    done = member(translated("a.odt", content), "content.xml").decode()
    assert frame.format("A &amp; B") in done


@pytest.mark.parametrize("font", ['style:font-name="Wingdings 2"', 'fo:font-family="Webdings"'])
def test_letters_of_a_font_with_signs_are_a_code(font: str) -> None:
    properties = f'<style:text-properties fo:color="red" {font}/>'
    style = f'<style:style style:name="T1" style:family="text">{properties}</style:style>'
    sign = '<text:span text:style-name="T1">J</text:span>'
    content = content_of(style, f"<text:p>a {sign} b</text:p>")
    assert texts_of("a.odt", content) == ["a <0/> b"]
    assert f"A {sign} B" in member(translated("a.odt", content), "content.xml").decode()


@pytest.mark.parametrize("text", ["<text:span>b</text:span>", "b"])
def test_a_base_keeps_its_annotation(text: str) -> None:
    ruby = "<text:ruby><text:ruby-base>{}</text:ruby-base><text:ruby-text>r</text:ruby-text>"
    content = content_of(f"<text:p>a {ruby.format(text)}</text:ruby> c</text:p>")
    inner = text.replace("<text:span>", "<1>").replace("</text:span>", "</1>")
    assert texts_of("a.odt", content) == [f"a <0>{inner}</0> c"]
    done = member(translated("a.odt", content), "content.xml").decode()
    assert f"A {ruby.format(text.replace('b', 'B'))}</text:ruby> C" in done
    empty = "<text:ruby><text:ruby-base/><text:ruby-text>r</text:ruby-text></text:ruby>"
    assert texts_of("a.odt", content_of(f"<text:p>a {empty} c</text:p>")) == ["a <0/> c"]


def test_the_lines_of_a_description_stay() -> None:
    frame = "<draw:frame><svg:desc>{}</svg:desc></draw:frame>"
    text = "A map of it\n\nMade in May"
    content = content_of(f"<text:p>{frame.format(text)}</text:p>")
    assert texts_of("a.odt", content) == [text]
    done = member(translated("a.odt", content), "content.xml").decode()
    assert frame.format("A MAP OF IT&#10;&#10;MADE IN MAY") in done


@pytest.mark.parametrize(("begin", "end"), [("", ""), ("&lt;", "&gt;")])
def test_the_texts_of_placeholders_are_translated(begin: str, end: str) -> None:
    head = "<text:placeholder text:placeholder-type='text' text:description=\"{}\">"
    field = f"{head}{begin}{{}}{end}</text:placeholder>"
    content = content_of(f"<text:p>Dear {field.format('Click', 'Name &amp; house')},</text:p>")
    assert texts_of("a.ott", content) == ["Dear <0/>,", "Click", "Name & house"]
    done = member(translated("a.ott", content), "content.xml").decode()
    assert f"DEAR {field.format('CLICK', 'NAME &amp; HOUSE')}," in done


def test_an_index_that_is_made_anew_has_the_title_of_before() -> None:
    title = "<text:index-title><text:p>Contents</text:p></text:index-title>"
    template = "<text:index-title-template text:style-name='T'>Contents</text:index-title-template>"
    done = member(translated("a.odt", content_of(template, title)), "content.xml").decode()
    assert done == f"<x {NAMES}>{template}{title}</x>".replace(">Contents<", ">CONTENTS<")


def test_titles_of_prompts_are_translated() -> None:
    prompt = '<table:help-message table:title="Size"><text:p>Choose</text:p></table:help-message>'
    content = content_of(prompt)
    assert texts_of("a.ods", content) == ["Choose", "Size"]
    assert b'table:title="SIZE"' in member(translated("a.ods", content), "content.xml")


def test_labels_of_controls_are_translated_and_their_choices_stay() -> None:
    kept = '<form:listbox form:name="list"><form:option form:label="red"/></form:listbox>'
    form = '<form:checkbox form:name="agree" form:label="{}" form:title="{}"/>'
    content = content_of(form.format("I agree", "a tip"), kept, "<text:p>sea</text:p>")
    done = member(translated("a.odt", content), "content.xml").decode()
    assert f">{form.format('I AGREE', 'A TIP')}{kept}<text:p>SEA</text:p>" in done


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("loext:content-control", '<loext:list-item loext:display-text="{}" loext:value="1"/>'),
        ("text:drop-down", '<text:label text:value="{}"/>'),
    ],
)
@pytest.mark.parametrize("shown", ["{}", '<text:span text:style-name="b">{}</text:span>'])
def test_the_choices_of_a_list_in_a_text_are_translated_as_the_chosen_one_is(
    name: str, item: str, shown: str
) -> None:
    inner = f"{item.format('sea')}{item.format('{}')}{shown}"
    paragraph = f"<text:p>{{}} <{name}>{inner}</{name}></text:p>"
    content = content_of(paragraph.format("look", "sky", "sky"))
    assert texts_of("a.odt", content) == ["look <0/>", "sea", "sky"]
    done = member(translated("a.odt", content), "content.xml").decode()
    assert paragraph.format("LOOK", "SKY", "SKY").replace("sea", "SEA") in done


def test_all_words_of_a_text_in_spans_stay_in_spans() -> None:
    def paragraph(*parts: str) -> bytes:
        return content_of(f"<text:p>{''.join(parts)}</text:p>")

    def span(style: str, text: str) -> str:
        return f'<text:span text:style-name="{style}">{text}</text:span>'

    translation = [coded("um 12 <1>%</1> <0>mehr</0> Wein <2>jetzt</2>")]
    three = span("a", "more wine by 12"), span("b", "%"), " ", span("a", "now")
    written = parse_file(paragraph(*three), "a.odp", OPTIONS).write(translation)
    done = f"{span('a', 'um 12 ')}{span('b', '%')} {span('a', 'mehr')}{span('a', ' Wein ')}"
    assert f"<text:p>{done}{span('a', 'jetzt')}</text:p>" in member(written, "content.xml").decode()
    plain = parse_file(paragraph("so ", *three), "a.odp", OPTIONS).write(translation)
    assert f"um 12 {span('b', '%')}" in member(plain, "content.xml").decode()
    linked = '<text:a xlink:href="b">more</text:a>', " ", span("b", "now")
    written = parse_file(paragraph(*linked), "a.odp", OPTIONS).write(
        [coded("so <0>mehr</0> <1>jetzt</1>")]
    )
    assert f"{span('b', 'so ')}<text:a" in member(written, "content.xml").decode()
    ends = '<text:bookmark-start text:name="n"/>', '<text:bookmark-end text:name="n"/>'
    content = paragraph(ends[0], span("a", "more wine"), ends[1])
    written = parse_file(content, "a.odp", OPTIONS).write([coded("<0>mehr <1>Wein</1></0>")])
    done = f"{ends[0]}{span('a', 'mehr ')}{span('a', 'Wein')}{ends[1]}"
    assert done in member(written, "content.xml").decode()


@pytest.mark.parametrize("outside", [".", ": !", "&amp;", "12", "00: "])
def test_signs_and_numbers_outside_of_the_look_of_all_words_stay_there(outside: str) -> None:
    paragraph = f'<text:p>{outside}<text:span text:style-name="a">the sea</text:span>{outside}'
    done = member(translated("a.odt", content_of(f"{paragraph}</text:p>")), "content.xml").decode()
    assert f"{paragraph.replace('the sea', 'THE SEA')}</text:p>" in done


def test_charts_of_a_document_are_translated() -> None:
    chart = f"<x {NAMES}><text:p>Title</text:p></x>".encode()
    members = {"content.xml": b"<x/>", "Object 1/content.xml": chart}
    assert texts_of("a.odt", archive(members)) == ["Title"]


@pytest.mark.parametrize(
    ("level", "text", "done"),
    [
        (
            'loext:num-list-format="Part %1%.%2%:" style:num-prefix="Part " style:num-suffix=":"',
            "Part %1.%2:",
            'loext:num-list-format="PART %1%.%2%:" style:num-prefix="PART " style:num-suffix=":"',
        ),
        (
            'style:num-prefix="a &amp; " style:num-format="一, 二, 三, ..."',
            "a & %2",
            'style:num-prefix="A &amp; " style:num-format="1"',
        ),
        ('style:num-prefix="(" style:num-suffix=")"', None, None),
        ('loext:num-list-format="Note"', None, None),
        ('loext:num-list-format="a %1%1"', None, None),
    ],
)
def test_words_around_the_numbers_of_paragraphs_are_translated(
    level: str, text: str | None, done: str | None
) -> None:
    tag = '<text:outline-level-style text:level="2" {}/>'
    content = content_of(tag.format(level))
    assert set(texts_of("a.odt", content)) == ({text} if text else set())
    written = member(translated("a.odt", content), "content.xml").decode()
    assert tag.format(done or level) in written
    others = ["Part"] * len(texts_of("a.odt", content))
    kept = member(parse_file(content, "a.odt", OPTIONS).write(others), "content.xml").decode()
    assert tag.format(level.replace("一, 二, 三, ...", "1") if text else level) in kept
