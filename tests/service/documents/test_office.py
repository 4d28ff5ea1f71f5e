"""DOCX, PPTX, XLSX, ODT, EPUB, CSV and TSV: runs are merged, links and fields stay whole, texts of
cells are translated, and a table and its other values stay."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.documents.segments import FileOptions
from service.errors import InvalidDocument
from service.translation.markup.coded_text import CodedText, TextPart
from tests.service.documents.samples import (
    CSV,
    OPTIONS,
    SAMPLES,
    SHEET,
    STRINGS,
    A,
    W,
    archive,
    coded,
    member,
    package,
    parse_file,
    shown,
    texts_of,
    translated,
)


def word(*paragraphs: str) -> bytes:
    body = "".join(f"<w:p>{paragraph}</w:p>" for paragraph in paragraphs)
    return package({"word/document.xml": f"<w:document {W}>{body}</w:document>".encode()})


def run(text: str, properties: str = "") -> str:
    look = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{look}<w:t xml:space="preserve">{text}</w:t></w:r>'


def field(code: str, result: str) -> str:
    def char(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    instruction = f"<w:r><w:instrText>{code}</w:instrText></w:r>"
    return char("begin") + instruction + char("separate") + result + char("end")


@pytest.mark.parametrize(
    ("paragraph", "text"),
    [
        (run("one ") + run("two"), "one two"),
        (run("one") + "<w:proofErr/>" + run("two", '<w:lang w:val="en-US"/>'), "onetwo"),
        (run("one ") + run("two", "<w:noProof/>"), "one two"),
        (run("one ", "<w:b/>") + run("two", "<w:b/>"), "one two"),
        (run("one ") + run("two", "<w:b/>") + run(" three"), "one <0>two</0> three"),
        (run("x", "<w:b/>") + run(" longer"), "<0>x</0> longer"),
        (
            run("see ") + f'<w:hyperlink w:anchor="a">{run("this", "<w:u/>")}</w:hyperlink>',
            "see <0><1>this</1></0>",
        ),
        (run("a ") + field("HYPERLINK x", run("link")), "a <0>link</0>"),
        (run("a ") + "<w:ins>" + run("b") + "</w:ins>", "a <0>b</0>"),
        (
            f"<w:moveTo><w:bdo>{run('a')}</w:bdo></w:moveTo>",
            "<0><1>a</1></0>",
        ),
        (f"<w:customXml><w:customXmlPr/>{run('a')}</w:customXml>", "<0>a</0>"),
        (
            f"<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>{run('a')}</w:sdtContent></w:sdt>",
            "<0>a</0>",
        ),
        (run("a") + "<w:r><w:tab/></w:r>" + run("b"), "a<0|>b"),
        (run("a") + "<w:r><w:noBreakHyphen/></w:r>" + run("b"), "a\u2011b"),
        (run("a") + '<w:bookmarkStart w:id="1"/>' + run("b"), "a<0/>b"),
        (
            run("long H") + run("2", '<w:vertAlign w:val="subscript"/>') + run("O"),
            "long H<^0>2</0>O",
        ),
    ],
)
def test_runs_become_one_text_and_runs_again(paragraph: str, text: str) -> None:
    content = word(paragraph)
    assert texts_of("a.docx", content) == [text]
    done = translated("a.docx", content)
    assert [one.lower() for one in texts_of("a.docx", done)] == [text.lower()]


@pytest.mark.parametrize(
    "shown",
    [
        *("<w:strike/>", "<w:dstrike/>", '<w:u w:val="single"/>', '<w:highlight w:val="yellow"/>'),
        *('<w:shd w:val="clear" w:color="auto" w:fill="FFFF00"/>', "<w:b/><w:bdr/>"),
        *(
            "<w:rStyle/>",
            "<strike/>",
            "<u/>",
            ' u="sng"',
            ' b="1" strike="sngStrike"',
            "<a:highlight/>",
        ),
    ],
)
def test_spaces_between_runs_do_not_get_the_line_or_the_colour_of_their_neighbours(
    shown: str,
) -> None:
    assert decorated_texts(shown) == ["<0>a longer word</0> <1>and</1> <2>another.</2>"]


@pytest.mark.parametrize(
    "hidden",
    [
        *("<w:b/>", '<w:u w:val="none"/>', '<w:strike w:val="0"/>', ' u="none"', "<b/>"),
        *('<w:shd w:val="clear" w:fill="auto"/>', ' strike="noStrike"'),
    ],
)
def test_the_most_common_look_is_the_paragraphs_if_spaces_do_not_show_it(hidden: str) -> None:
    assert decorated_texts(hidden) == ["a longer word<0> </0>and<1> </1>another."]


def decorated_texts(look: str) -> list[str]:
    return texts_of(*decorated(look, " "))


def decorated(look: str, between: str) -> tuple[str, bytes]:
    """A file with a paragraph of Word, of a slide or of a cell, with words of this look and plain
    texts between."""
    prefix = look.strip("< ")[:2] if ":" in look[:3] else "a:" if look[0] == " " else ""
    properties = f"{prefix}rPr{look}/" if look[0] == " " else f"{prefix}rPr>{look}</{prefix}rPr"
    word_text = f"<{prefix}r><{properties}><{prefix}t>{{}}</{prefix}t></{prefix}r>"
    space = f'<{prefix}r><{prefix}t xml:space="preserve">{between}</{prefix}t></{prefix}r>'
    runs = space.join(map(word_text.format, ("a longer word", "and", "another.")))
    if prefix == "w:":
        return "a.docx", word(runs)
    if prefix == "a:":
        slide = f"<x {A}><a:p>{runs}</a:p></x>".encode()
        members = {"ppt/presentation.xml": b"<p/>", "ppt/slides/slide1.xml": slide}
        return "a.pptx", package(members)
    members = {
        "xl/workbook.xml": b"<a/>",
        "xl/sharedStrings.xml": f"<sst><si>{runs}</si></sst>".encode(),
    }
    return "a.xlsx", package(members)


@pytest.mark.parametrize(
    "font",
    [
        '<w:rFonts w:ascii="Wingdings" w:hAnsi="Wingdings"/>',
        '<a:latin typeface="Webdings"/>',
        '<rFont val="Wingdings 2"/>',
    ],
)
def test_letters_of_a_font_with_signs_are_words_that_stay(font: str) -> None:
    name, content = decorated(font, " or ")
    assert texts_of(name, content) == ["a longer word or and or another."]
    done = texts_of(name, translated(name, content))
    assert done == ["a longer word OR and OR another."]
    assert texts_of(*decorated(font, " ")) == []


def test_a_line_break_in_an_alternative_text_reads_as_a_space() -> None:
    picture = '<p:cNvPr id="1" descr="A{}picture{}of it"/>'
    members = {
        "ppt/presentation.xml": b"<p/>",
        "ppt/slides/slide1.xml": f"<x>{picture.format(chr(10), '&#10;')}</x>".encode(),
    }
    content = package(members)
    assert texts_of("a.pptx", content) == ["A picture\nof it"]
    done = member(translated("a.pptx", content), "ppt/slides/slide1.xml").decode()
    assert 'descr="A PICTURE&#10;OF IT"' in done


def test_a_baseline_of_zero_is_none() -> None:
    zero = ' baseline="0"'
    run_of = '<a:r><a:rPr u="sng"{}/><a:t>{}</a:t></a:r>'.format
    slide = f"<x {A}><a:p>{run_of('', 'r')}{run_of(zero, 'eport')}</a:p></x>"
    members = {"ppt/presentation.xml": b"<p/>", "ppt/slides/slide1.xml": slide.encode()}
    assert texts_of("a.pptx", package(members)) == ["report"]


@pytest.mark.parametrize(
    "wrapper",
    [
        "<w:sdt><w:sdtPr/><w:sdtContent/></w:sdt>",
        "<w:sdt><w:sdtPr/><w:sdtContent></w:sdtContent></w:sdt>",
        *("<w:hyperlink/>", "<w:ins></w:ins>", "<w:fldSimple w:instr='DATE'/>"),
        "<w:r><w:ruby><w:rt/><w:rubyBase/></w:ruby></w:r>",
    ],
)
def test_what_encloses_nothing_is_written_once(wrapper: str) -> None:
    content = word(run("a ") + wrapper + run("b"))
    assert texts_of("a.docx", content) == ["a <0/>b"]
    before, after = run("A ", ""), "<w:r><w:t>B</w:t></w:r></w:p>"
    done = member(translated("a.docx", content), "word/document.xml").decode()
    assert f"{before}{wrapper}{after}" in done


@pytest.mark.parametrize(
    "merged",
    [
        field(" MERGEFIELD Name ", run("«Name»")),
        f'<w:fldSimple w:instr=" MERGEFIELD Name ">{run("«Name»")}</w:fldSimple>',
    ],
)
def test_a_merge_field_reads_as_its_name_and_stays(merged: str) -> None:
    content = word(run("Dear ") + merged + run(", hello"))
    assert texts_of("a.docx", content) == ["Dear «Name», hello"]
    assert merged in member(translated("a.docx", content), "word/document.xml").decode()


ONE_RUN = (
    '<w:fldChar w:fldCharType="begin"/><w:instrText>{}</w:instrText>'
    '<w:fldChar w:fldCharType="separate"/>{}<w:fldChar w:fldCharType="end"/></w:r>'
)
"""A field as Google Docs and scripts write it."""


@pytest.mark.parametrize(
    ("code", "result", "read"),
    [
        *(("DATE", "", "<0/>"), ("DATE", "<w:t>today</w:t>", "<0>today</0>")),
        ("MERGEFIELD Name", "<w:t>«Name»</w:t>", "«Name»"),
    ],
)
def test_a_field_in_one_run_reads_as_one_in_several_runs(code: str, result: str, read: str) -> None:
    whole = f"<w:r>{ONE_RUN.format(code, result)}"
    behind = f"<w:r><w:t>some</w:t>{ONE_RUN.format(code, result)}"
    contents = word(run("some") + whole + run(" more")), word(behind + run(" more"))
    for content in contents:
        assert texts_of("a.docx", content) == [f"some{read} more"]
        done = member(translated("a.docx", content), "word/document.xml").decode()
        kinds = [part.partition('"')[0] for part in done.split('fldCharType="')[1:]]
        assert kinds == ["begin", "separate", "end"]


@pytest.mark.parametrize("left_out", ["", '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'])
def test_the_number_of_a_page_is_read_where_it_is_not_written(left_out: str) -> None:
    pages = field(" PAGE ", "|"), field("NUMPAGES \\* x", "|")
    empty = [page.replace("|", "").replace(left_out, "") for page in pages]
    content = word(run("page ") + empty[0] + run(" of ") + empty[1])
    assert texts_of("a.docx", content) == ["page <0>1</0> of <1>2</1>"]
    done = member(translated("a.docx", content), "word/document.xml").decode()
    for page, number in zip(pages, "12", strict=True):
        assert page.replace("|", f"<w:r><w:t>{number}</w:t></w:r>") in done
    nested = field("IF", "").replace("</w:instrText></w:r>", f"</w:instrText></w:r>{empty[0]}")
    assert texts_of("a.docx", word(run("a ") + nested)) == ["a <0/>"]


def test_fields_are_nested_within_bounds() -> None:
    begin, end = field("REF a", "|").split("|")
    (text,) = texts_of("a.docx", word(begin * 40 + run("a") + end * 40))
    assert text.startswith("<0><1><2>")
    with pytest.raises(InvalidDocument, match="nested deeper than 50"):
        parse_file(word(begin * 3000 + run("a") + end * 3000), "a.docx", OPTIONS)


def test_a_field_over_paragraphs_keeps_its_runs_in_order() -> None:
    whole = field("TOC", run("one") + "</w:p><w:p>" + run("two"))
    first, second = whole.split("</w:p><w:p>")
    content = word(first, second)
    assert [text.count("|>") for text in texts_of("a.docx", content)] == [2, 1]
    xml = member(translated("a.docx", content), "word/document.xml").decode()
    kinds = [part.partition('"')[0] for part in xml.split('fldCharType="')[1:]]
    assert kinds == ["begin", "separate", "end"]


def test_spaces_at_the_ends_of_runs_stay() -> None:
    xml = member(translated("a.docx", word(run("a ") + run("b", "<w:i/>"))), "word/document.xml")
    assert b'<w:t xml:space="preserve">A </w:t>' in xml


def test_headers_and_notes_are_translated_and_styles_are_not() -> None:
    part = f"<w:x {W}><w:p>{run('a')}</w:p></w:x>".encode()
    names = ["document", "header1", "footer2", "footnotes", "endnotes", "comments", "styles"]
    names.append("glossary/document")
    content = package({f"word/{name}.xml": part for name in names})
    assert len(texts_of("a.docx", content)) == 7
    assert member(translated("a.docx", content), "word/styles.xml") == part


def test_slides_notes_and_diagrams_are_translated() -> None:
    part = f"<x {A}><a:p><a:r><a:t>a</a:t></a:r><a:fld><a:t>1</a:t></a:fld></a:p></x>".encode()
    names = ["slides/slide1", "notesSlides/notesSlide1", "diagrams/data1", "slideMasters/m1"]
    members = {"presentation": b"<p/>", **dict.fromkeys(names, part)}
    content = package({f"ppt/{name}.xml": one for name, one in members.items()})
    assert texts_of("a.pptx", content) == ["a<0/>"] * 3


@pytest.mark.parametrize(
    ("name", "member_name"),
    [
        ("a.docx", "word/document.xml"),
        ("a.pptx", "ppt/presentation.xml"),
        ("a.xlsx", "xl/workbook.xml"),
    ],
)
def test_titles_and_the_names_in_charts_are_translated(name: str, member_name: str) -> None:
    folder = member_name.partition("/")[0]
    cache = "<c:strCache><c:ptCount/><c:pt><c:v>East</c:v></c:pt><c:pt><c:v>7</c:v></c:pt>"
    levels = "<c:multiLvlStrCache><c:lvl><c:pt><c:v>City</c:v></c:pt></c:lvl></c:multiLvlStrCache>"
    series = f"<c:tx><c:v>Own</c:v></c:tx><c:tx><c:strRef>{cache}</c:strCache></c:strRef></c:tx>"
    other = "<cx:tx><cx:txData><cx:f>A1</cx:f><cx:v>New</cx:v></cx:txData></cx:tx>"
    labels = "<c15:dlblRangeCache><c:pt><c:v>Big</c:v></c:pt></c15:dlblRangeCache>"
    names = f"{cache}</c:strCache>{levels}{series}{other}{labels}"
    members = {
        member_name: b"<x/>",
        f"{folder}/charts/chart1.xml": f"<x>{names}</x>".encode(),
        "docProps/core1.xml": b"<x><dc:title>Title</dc:title><dc:language>en</dc:language></x>",
    }
    content = package(members)
    assert texts_of(name, content) == ["East", "City", "Own", "East", "New", "Big", "Title"]
    done = member(translated(name, content), "docProps/core1.xml")
    assert done == b"<x><dc:title>TITLE</dc:title><dc:language>de-DE</dc:language></x>"


@pytest.mark.parametrize(
    ("paragraph", "texts"),
    [
        ("a <text:span>b</text:span> c", ["a <0>b</0> c"]),
        ("a<text:s/>b", ["a b"]),
        ("a <text:s text:c='9'/>b", ["a <0|>b"]),
        ("a<text:tab/>b", ["a<0|>b"]),
        ("<text:a>x</text:a>", ["<0>x</0>"]),
        ("a <text:text-input text:description='b'>c</text:text-input>", ["a <0>c</0>"]),
        ('m<text:span text:style-name="T1">2</text:span>', ["m<^0>2</0>"]),
        (
            "a <text:span>b<text:note><text:p>n</text:p></text:note>c</text:span> d",
            ["a <0>b<1/>c</0> d", "n"],
        ),
        ("<![CDATA[a < b]]> &amp; c", ["a < b & c"]),
        ("42", []),
    ],
)
def test_paragraphs_of_opendocument(paragraph: str, texts: list[str]) -> None:
    style = '<style:style style:name="T1"><style:text-properties style:text-position="super"/>'
    xml = f"<x xmlns:text='t' xmlns:style='s'>{style}</style:style><text:p>{paragraph}</text:p></x>"
    content = archive({"content.xml": xml.encode()})
    assert texts_of("a.odt", content) == texts
    assert len(texts_of("a.odt", translated("a.odt", content))) == len(texts)


def test_what_masters_show_is_translated_and_their_prompts_stay() -> None:
    shape = "<p:sp><p:nvPr>{}</p:nvPr><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sp>"
    shapes = shape.format('<p:ph type="title"/>', "Click here") + shape.format("", "Own")
    master = f"<x {A} xmlns:p='p'>{shapes}</x>".encode()
    names = ("slideLayouts/slideLayout1", "slideMasters/slideMaster1")
    members = {f"ppt/{name}.xml": master for name in names}
    content = package({"ppt/presentation.xml": b"<p/>", **members})
    assert texts_of("a.pptx", content) == ["Own", "Own"]


def test_handouts_have_no_prompts() -> None:
    shape = "<p:sp><p:ph type='hdr'/><a:p><a:r><a:t>Head</a:t></a:r></a:p></p:sp>"
    master = f"<x {A} xmlns:p='p'>{shape}</x>".encode()
    members = {"ppt/presentation.xml": b"<p/>", "ppt/handoutMasters/handoutMaster1.xml": master}
    assert texts_of("a.pptx", package(members)) == ["Head"]


def test_comments_on_slides_are_translated() -> None:
    comments = b"<p:cm xmlns:p='p'><p:text>One\ntwo</p:text></p:cm>"
    members = {"ppt/presentation.xml": b"<p/>", "ppt/comments/c.xml": comments}
    assert texts_of("a.pptx", package(members)) == ["One<0|>two"]


PICTURE = '<w:r><w:drawing><w:docPr id="1" name="P 1" descr="{}"/></w:drawing></w:r>'


def test_alternative_texts_and_choices_are_translated_wherever_they_stand() -> None:
    items = '<w:listItem w:displayText="Red" w:value="1"/><w:listItem w:value="Blue"/>'
    control = f"<w:sdtPr><w:dropDownList>{items}</w:dropDownList></w:sdtPr>"
    chosen = f"<w:sdt>{control}<w:sdtContent>{run('Red')}</w:sdtContent></w:sdt>"
    picture = PICTURE.format("A &quot;sea&quot;&#10;&amp; sky")
    mark = '<w:r><w:pict><v:textpath string="Draft"/></w:pict></w:r>'
    content = word(
        run("see ") + picture + run(" there"), run("I like ") + chosen + run(" most"), mark
    )
    texts = ["see <0/> there", "I like <0|>Red<1|> most", 'A "sea"\n& sky', "Red", "Blue", "Draft"]
    assert texts_of("a.docx", content) == texts
    xml = member(translated("a.docx", content), "word/document.xml").decode()
    assert picture.replace("sea", "SEA").replace("sky", "SKY") in xml
    assert '<w:listItem w:displayText="RED" w:value="1"/><w:listItem w:value="BLUE"/>' in xml


@pytest.mark.parametrize(("letter", "first"), [("o", "E"), ("“o", "„E")])
def test_the_large_first_letter_of_a_paragraph_is_that_of_the_translation(
    letter: str, first: str
) -> None:
    frame = '<w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr>'
    content = word(frame + run(letter, "<w:sz/>"), run("ne ") + run("two", "<w:b/>"), run("three"))
    parsed = parse_file(content, "a.docx", OPTIONS)
    texts = [f"{letter}ne <0>two</0>", "three"]
    assert [shown(segment.text) for segment in parsed.segments] == texts
    done = parsed.write([coded(f"{first}ins <0>zwei</0>"), parsed.segments[1].text])
    xml = member(done, "word/document.xml").decode()
    assert f"{frame}{run(first, '<w:sz/>')}</w:p><w:p>{run('ins ')}<w:r>" in xml
    assert "<w:b/></w:rPr><w:t>zwei</w:t>" in xml
    plain = word(frame + run(letter), "<w:r><w:tab/></w:r>" + run("ne"), run("three"))
    assert texts_of("a.docx", plain)[-2:] == ["<0|>ne", "three"]


@pytest.mark.parametrize(("kind", "is_bound"), [("w:text", False), ("w:date", True)])
def test_a_text_is_not_bound_to_a_part_that_has_the_source(kind: str, is_bound: bool) -> None:
    binding = '<w:dataBinding w:xpath="/a" w:storeItemID="{1}"/>'
    head = f"<w:sdtPr>{binding}<{kind}/></w:sdtPr>"
    content = word(f"<w:sdt>{head}<w:sdtContent>{run('a')}</w:sdtContent></w:sdt>")
    xml = member(translated("a.docx", content), "word/document.xml").decode()
    assert (binding in xml) == is_bound


def numbering(number: str, text: str) -> bytes:
    level = f'<w:lvl><w:numFmt w:val="{number}"/><w:lvlText w:val="{text}"/></w:lvl>'
    return package(
        {"word/document.xml": f"<x {W}/>".encode(), "word/numbering.xml": level.encode()}
    )


@pytest.mark.parametrize(
    ("number", "text", "target", "done"),
    [
        ("decimal", "Chapter %1.%2", "de", ("decimal", "CHAPTER %1.%2")),
        ("none", "Note: ", "de", ("none", "NOTE: ")),
        ("bullet", "o", "de", None),
        ("decimal", "(%1)", "de", None),
        ("chineseCountingThousand", "第%1章a", "de", ("decimal", "第%1章A")),
        ("chineseCounting", "a %1", "ja", ("chineseCounting", "A %1")),
    ],
)
def test_words_around_the_numbers_of_paragraphs_are_translated(
    number: str, text: str, target: str, done: tuple[str, str] | None
) -> None:
    content = numbering(number, text)
    options = FileOptions("en", target)
    assert texts_of("a.docx", content, options) == ([text] if done else [])
    assert translated("a.docx", content, options) == (numbering(*done) if done else content)


def test_a_translation_without_the_number_of_a_paragraph_is_not_written() -> None:
    content = numbering("decimal", "Chapter %1")
    done = parse_file(content, "a.docx", OPTIONS).write(["Chapter 1"])
    assert member(done, "word/numbering.xml") == member(content, "word/numbering.xml")


def test_shapes_from_slides_are_translated_and_cut_no_sentence() -> None:
    shape = "<w:r><w:drawing><lc:lockedCanvas><a:p><a:r><a:t>{}</a:t></a:r></a:p></lc:lockedCanvas>"
    shape += "</w:drawing></w:r>"
    content = word(f"{run('see ')}{shape.format('the sea')}{run('there')}")
    assert texts_of("a.docx", content) == ["see <0/>there", "the sea"]
    xml = member(translated("a.docx", content), "word/document.xml").decode()
    assert shape.format("THE SEA") in xml


PAGE_OF_MAIL = "MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


@pytest.mark.parametrize(
    ("media_type", "head"),
    [("text/html", ""), ("application/xhtml+xml", ""), ("message/rfc822", PAGE_OF_MAIL)],
)
def test_a_page_that_a_document_imports_is_translated(media_type: str, head: str) -> None:
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    listed = f'<Default Extension="htm" ContentType="{media_type}"/>'
    body = f'<w:document {W}><w:altChunk r:id="r1"/></w:document>'
    page = '<html lang="{}"><body><p>{}</p></body></html>'
    members = {
        "[Content_Types].xml": f'<t><Default Extension="xml" ContentType="{main}"/>{listed}</t>',
        "word/document.xml": body.replace("<w:alt", f"<w:p>{run('a')}</w:p><w:alt"),
        "word/page.htm": head + page.format("en", "The sea"),
    }
    content = archive({name: text.encode() for name, text in members.items()})
    done = member(translated("a.docx", content), "word/page.htm").decode()
    assert done == head + page.format("de", "THE SEA")


def test_the_base_of_an_annotation_is_translated() -> None:
    head = f"<w:ruby><w:rubyPr/><w:rt>{run('x')}</w:rt><w:rubyBase>"
    content = word(f"{run('a ')}<w:r>{head}{run('b')}</w:rubyBase></w:ruby></w:r>")
    assert texts_of("a.docx", content) == ["a <0>b</0>"]
    xml = member(translated("a.docx", content), "word/document.xml").decode()
    assert f"<w:r>{head}<w:r><w:t>B</w:t></w:r></w:rubyBase></w:ruby></w:r>" in xml


@pytest.mark.parametrize("gap", ["      ", "   |   ", "\u3000\u3000\u3000", "\u00a0\u00a0 "])
def test_runs_of_spaces_stay_between_texts(gap: str) -> None:
    pieces = f"Name:{gap}Date:".split("|")
    gap = gap.replace("|", "")
    content = word("".join(map(run, pieces)))
    assert texts_of("a.docx", content) == ["Name:<0|>Date:"]
    xml = member(translated("a.docx", content), "word/document.xml").decode()
    assert f'<w:t xml:space="preserve">{gap}</w:t>' in xml
    text = "".join(f"<a:r><a:t>{piece}</a:t></a:r>" for piece in pieces)
    name = "ppt/slides/slide1.xml"
    slide = f"<x {A}><a:p>{text}</a:p></x>".encode()
    content = package({"ppt/presentation.xml": b"<p/>", name: slide})
    assert texts_of("a.pptx", content) == ["Name:<0|>Date:"]
    assert f"<a:t>{gap}</a:t>" in member(translated("a.pptx", content), name).decode()


@pytest.mark.parametrize(
    ("damaged", "content"),
    [
        ("META-INF/container.xml", b"<c>"),
        ("a.opf", b"<c>"),
        ("toc.ncx", b"<c>"),
        ("p.xhtml", b"<c>\0"),
    ],
)
def test_a_book_needs_its_package_and_pages(damaged: str, content: bytes) -> None:
    members = {
        "META-INF/container.xml": b'<c><rootfile full-path="a.opf"/></c>',
        "a.opf": b'<p><item href="p.xhtml" media-type="application/xhtml+xml"/>'
        b'<item href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        b'<item href="../../etc/passwd" media-type="application/xhtml+xml"/></p>',
        "p.xhtml": b"<html><p>a</p></html>",
        "toc.ncx": b"<c/>",
    }
    assert texts_of("a.epub", archive(members)) == ["<p>a</p></html>"]
    with pytest.raises(InvalidDocument, match=f"^{damaged}: the file is not "):
        parse_file(archive({**members, damaged: content}), "a.epub", OPTIONS)


@pytest.mark.parametrize("other", ["application/pdf", "text/plain"])
def test_other_forms_of_a_book_stay(other: str) -> None:
    package_type = "application/oebps-package+xml"
    forms = f'<rootfile full-path="a.opf" media-type="{package_type}"/>'
    forms += f'<rootfile full-path="a.pdf" media-type="{other}"/>'
    members = {
        "META-INF/container.xml": f"<c>{forms}</c>".encode(),
        "a.opf": b'<p><item href="p" media-type="text/html"/></p>',
        "p": b"<p>a</p>",
        "a.pdf": b"%PDF",
    }
    assert texts_of("a.epub", archive(members)) == ["<p>a</p>"]


@pytest.mark.parametrize("media_type", ["application/xhtml+xml", "text/html"])
@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("a&nbsp;b", "A&nbsp;B"),
        ("a<br>b", "A<br>B"),
        ("a & b", "A & B"),
        ("a<p>b", "A<p>B"),
    ],
)
def test_pages_of_a_book_are_read_as_browsers_read_them(
    text: str, done: str, media_type: str
) -> None:
    members = {
        "META-INF/container.xml": b'<c><rootfile full-path="a.opf"/></c>',
        "a.opf": f'<p><item href="p" media-type="{media_type}"/></p>'.encode(),
        "p": f"<!DOCTYPE html><html lang='en'><p>{text}</p></html>".encode(),
    }
    expected = f"<!DOCTYPE html><html lang='de'><p>{done}</p></html>"
    assert member(translated("a.epub", archive(members)), "p").decode() == expected


@pytest.mark.parametrize("page", ["a.xhtml", "a.html", "a.htm", "a.xml"])
def test_a_protected_book_is_refused(page: str) -> None:
    members = {
        "META-INF/container.xml": b"<c/>",
        "META-INF/encryption.xml": f"<e URI='{page}'/>".encode(),
    }
    with pytest.raises(InvalidDocument, match="protected"):
        parse_file(archive(members), "a.epub", OPTIONS)


CELLS = st.lists(st.sampled_from([*"ab1 ,;\t|\n'=\"", "\r\n"]), max_size=6).map("".join)


def rows(content: bytes, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=4),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.text(st.sampled_from('ab",\t\n'), min_size=1, max_size=5),
)
def test_a_table_keeps_its_cells(table: list[list[str]], quoting: int, translation: str) -> None:
    """Whatever translations have in them."""
    written = io.StringIO()
    csv.writer(written, delimiter="\t", quoting=quoting).writerows(table)
    content = written.getvalue().encode()
    parsed = parse_file(content, "a.tsv", OPTIONS)
    done = rows(parsed.write([translation] * len(parsed.segments)), "\t")
    texts = [segment.text for segment in parsed.segments]
    for row, new_row in zip(rows(content, "\t"), done, strict=True):
        for value, new in zip(row, new_row, strict=True):
            assert new == (translation if value in texts else value)


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("a.csv", 'a,"b"","c d\n"e" f,g', 'A,"b"","c d\n"E" F,G'),
        ("a.csv", '"a ""b"""  ,c', '"A ""B"""  ,C'),
        ("a.tsv", '"One," he said\tgood day', '"ONE," HE SAID\tGOOD DAY'),
        ("a.tsv", '"One\ttwo" x\tthree', '"One\ttwo" x\tTHREE'),
    ],
)
def test_what_goes_on_behind_its_quotes_does_not_shift_the_cells(
    name: str, line: str, expected: str
) -> None:
    assert translated(name, line.encode()).decode() == expected


def test_quotes_and_values_stay() -> None:
    assert translated("a.csv", CSV) == CSV.replace(b"id,", b"ID,").replace(
        b"Name", b"NAME"
    ).replace(b"What it is", b"WHAT IT IS").replace(b"The sea", b"THE SEA").replace(
        b'"Deep, ""blue"" water"', b'"DEEP, ""BLUE"" WATER"'
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("first", ["x", "x, y; z, w | v"])
def test_the_delimiter_is_what_most_lines_have(delimiter: str, first: str) -> None:
    content = f'{first}{delimiter}"one, two"{delimiter}c\nd;e, f|g{delimiter}h\ni{delimiter}j\n'
    texts = [value for row in rows(content.encode(), delimiter) for value in row]
    assert texts_of("a.csv", content.encode()) == texts


def test_a_workbook_keeps_formulas_numbers_and_the_titles_of_tables() -> None:
    assert texts_of("a.xlsx", SAMPLES["a.xlsx"]) == [
        "The sea",
        "very <0>deep</0>",
        "The sky",
    ]
    done = translated("a.xlsx", SAMPLES["a.xlsx"])
    assert member(done, "xl/worksheets/sheet1.xml") == SHEET.replace(b"The sky", b"THE SKY")
    strings = member(done, "xl/sharedStrings.xml")
    assert strings.replace(b"\n", b" ") == STRINGS.replace(b"\n", b" ").replace(
        b"The sea", b"THE SEA"
    ).replace(b"very", b"VERY").replace(b"deep", b"DEEP")


@pytest.mark.parametrize(
    ("cell", "text", "done"),
    [
        ("<t>a&#10;b\nc</t>", "a<0|>b<1|>c", "<t>A&#10;B\nC</t>"),
        (
            "<r><rPr/><t>a\nb</t></r>",
            "a<0|>b",
            '<r><rPr/><t>A</t></r><r><rPr/><t xml:space="preserve">\n</t></r><r><rPr/><t>B</t></r>',
        ),
    ],
)
def test_line_breaks_of_cells_stay(cell: str, text: str, done: str) -> None:
    name = "xl/sharedStrings.xml"
    content = package({"xl/workbook.xml": b"<a/>", name: f"<sst><si>{cell}</si></sst>".encode()})
    assert texts_of("a.xlsx", content) == [text]
    assert member(translated("a.xlsx", content), name).decode() == f"<sst><si>{done}</si></sst>"


TEXTS = st.lists(
    st.sampled_from(["a ", "B", "c. ", "&amp;", "&#8217;", "&lt;x&gt;", "1", "  "]), min_size=1
)
RUNS = st.builds(
    run, TEXTS.map("".join), st.sampled_from(["", "<w:b/>", '<w:vertAlign w:val="superscript"/>'])
)
CODES = st.sampled_from(["<w:r><w:tab/></w:r>", '<w:bookmarkStart w:id="1"/>'])
LINKS = st.lists(RUNS, min_size=1).map(lambda runs: f"<w:hyperlink>{''.join(runs)}</w:hyperlink>")
FIELDS = st.builds(field, st.just("PAGE"), RUNS)


def swapped(content: bytes) -> bytes:
    """The document with small letters for capitals, and capitals for small letters."""
    parsed = parse_file(content, "a.docx", OPTIONS)
    texts = [text for segment in parsed.segments if isinstance(text := segment.text, CodedText)]
    return parsed.write([CodedText(tuple(map(swapped_part, text.parts))) for text in texts])


def swapped_part(part: TextPart) -> TextPart:
    return part.swapcase() if isinstance(part, str) else part


@settings(max_examples=100, deadline=None)
@given(st.lists(RUNS | CODES | LINKS | FIELDS, min_size=1, max_size=6).map("".join))
def test_runs_that_are_written_are_read_as_they_were(paragraph: str) -> None:
    content = word(paragraph)
    twice = swapped(swapped(content))
    parsed, again = (parse_file(one, "a.docx", OPTIONS) for one in (content, twice))
    assert parsed.segments == again.segments
    assert swapped(swapped(twice)) == twice


def test_pictures_that_are_pages_of_a_book_are_translated() -> None:
    lines = '<tspan x="1" y="2">One</tspan><tspan x="1" y="4">two</tspan>'
    picture = '<svg lang="en"><title>T</title><text>A <tspan>b</tspan></text>{}</svg>'
    items = "".join(
        f'<item id="{one}" href="{one}.svg" media-type="image/svg+xml"/>' for one in "abc"
    )
    members = {
        "META-INF/container.xml": b'<c><rootfile full-path="a.opf"/></c>',
        "a.opf": f'<p>{items}<itemref idref="a"/><itemref idref="b"/></p>'.encode(),
        "a.svg": picture.format("").encode(),
        "b.svg": picture.format(f"<text>{lines}</text>").encode(),
        "c.svg": picture.format("").encode(),
    }
    texts = ["T", "A <0>b</0>", "T", "A <0>b</0>", "<0|>One<1|><2|>two<3|>"]
    assert texts_of("a.epub", archive(members)) == texts
    done = translated("a.epub", archive(members))
    assert b'<svg lang="de"><title>T</title><text>A <tspan>B' in member(done, "a.svg")
    assert member(done, "c.svg") == members["c.svg"]


def test_a_tip_within_a_text_of_a_picture_is_a_text_of_its_own() -> None:
    picture = "<svg><text>one <a><title>two</title>three</a></text><title><p>four</p></title></svg>"
    done = translated("a.svg", picture.encode()).decode()
    assert (
        done
        == "<svg><text>ONE <a><title>TWO</title>THREE</a></text><title><p>FOUR</p></title></svg>"
    )


def test_pages_within_a_picture_are_translated_as_pages() -> None:
    """As draw.io and Mermaid draw labels."""
    page = '<div xmlns="http://www.w3.org/1999/xhtml">{}<br/><pre>Keep</pre><title>{}</title></div>'
    label = "<switch><foreignObject>{}</foreignObject><text>{}</text></switch><foreignObject/>"
    nested = label.format(page.format("Open <b>it</b> now", "a tip"), "open")
    picture = f"<svg><title>two</title>{nested}<style>Keep</style></svg>"
    assert len(texts_of("a.svg", picture.encode())) == 3
    done = label.format(page.format("OPEN <b>IT</b> NOW", "A TIP"), "OPEN").replace("Keep", "KEEP")
    done = f"<svg><title>TWO</title>{done}<style>Keep</style></svg>"
    assert translated("a.svg", picture.encode()).decode() == done
