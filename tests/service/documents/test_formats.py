"""What holds for every format: nothing but the segments changes, and no input breaks a parser."""

from __future__ import annotations

import codecs
import io
import zipfile
from pathlib import Path

import pytest
import regex

from service.documents.encodings import guessed_encoding
from service.documents.formats import FORMATS, format_of, parse_file
from service.documents.segments import FileOptions
from service.errors import DocumentTooLarge, InvalidDocument, UnsupportedFile
from tests.service.documents.samples import (
    OPTIONS,
    SAMPLES,
    A,
    W,
    archive,
    capitals,
    member,
    package,
    pdf,
    texts_of,
    translated,
)

TEXTS = [name for name, content in SAMPLES.items() if not content.startswith(b"PK")]
ARCHIVES = [name for name in SAMPLES if name not in TEXTS]


def test_every_format_has_a_sample() -> None:
    suffixes = {"." + name.rpartition(".")[2] for name in SAMPLES}
    parsers = {FORMATS[suffix].parse for suffix in suffixes}
    assert {known.parse for known in FORMATS.values()} - parsers == {FORMATS[".pdf"].parse}


@pytest.mark.parametrize("name", SAMPLES)
def test_without_a_translation_not_a_byte_changes_and_one_can_be_parsed_again(
    name: str,
) -> None:
    parsed = parse_file(SAMPLES[name], name, OPTIONS)
    assert parsed.segments
    assert parsed.write([segment.text for segment in parsed.segments]) == SAMPLES[name]
    again = translated(name, SAMPLES[name])
    assert again != SAMPLES[name]
    if name.rpartition(".")[2] not in (
        "po",
        "xlf",
        "xliff",
        "ts",
        "xcstrings",
    ):  # there nothing is left to do
        assert len(texts_of(name, again)) == len(texts_of(name, SAMPLES[name]))


@pytest.mark.parametrize("call", ["is_zipfile", "ZipFile", "ZipFile.infolist", "ZipFile.testzip"])
def test_whatever_zipfile_raises_a_damaged_archive_is_refused(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions of Python differ in what they check, and where."""

    def raises(*_: object) -> None:
        raise ValueError("negative seek value")

    monkeypatch.setattr(f"zipfile.{call}", raises)
    with pytest.raises(InvalidDocument, match="as a ZIP archive.*negative seek value"):
        parse_file(SAMPLES[ARCHIVES[0]], ARCHIVES[0], OPTIONS)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        *((name, "utf-8-sig") for name in TEXTS),
        # messages are bytes
        *((name, "utf-16") for name in TEXTS if name not in ("a.eml", "a.mht")),
    ],
)
def test_byte_order_marks_are_read_and_stay(name: str, encoding: str) -> None:
    text = SAMPLES[name].decode().replace('encoding="UTF-8"', "").replace('encoding="utf-8"', "")
    content = text.encode(encoding)
    parsed = parse_file(content, name, OPTIONS)
    assert parsed.write([segment.text for segment in parsed.segments]) == content
    assert translated(name, content).decode(encoding) == translated(name, text.encode()).decode()


GERMAN = "Das Mädchen läuft über die Straße und grüßt den Bäcker.\nEs ist früh.\n"
CHINESE = "今天天气很好，我们去公园散步。\n他说这本书很有意思，值得一读。\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "latin-1"),
        (GERMAN, "utf-16-le"),
        (CHINESE, "gbk"),
        (CHINESE, "utf-16-be"),
        ("caf\u00e9 5 \u20ac\n", "cp1252"),
    ],
)
def test_older_encodings_are_read_and_stay_if_they_can(text: str, encoding: str) -> None:
    content = text.encode(encoding)
    parsed = parse_file(content, "a.txt", OPTIONS)
    assert "".join(segment.text for segment in parsed.segments) == text
    assert parsed.write([segment.text for segment in parsed.segments]) == content
    wide = parsed.write(["\u4e66 \u0434\u0430 \u00fc"])
    written = "utf-8-sig" if encoding in ("latin-1", "cp1252") else encoding
    assert wide.decode("gb18030" if encoding == "gbk" else written) == "\u4e66 \u0434\u0430 \u00fc"


@pytest.mark.parametrize(
    ("text", "encoding", "source"),
    [
        *((text, "gbk", "auto") for text in ("你好！", "谢谢你", "设置\n", "App下载", "名: a.txt")),
        *((text, "big5", "auto") for text in ("你好！", "設定\n", "檔案 a.txt", "今天天氣很好。")),
        *((text, "cp1252", "auto") for text in ("Über mich", "für", "Ü", "¿Qué?", "5 £ – “gut”")),
        *((text, "cp1252", "auto") for text in ("gemäß", "GRÖßE", "naïve, créée", "20 °C à 3 €")),
        ("拼音", "gbk", "zh"),
    ],
)
def test_a_short_text_is_read_with_few_rare_characters(
    text: str, encoding: str, source: str
) -> None:
    parsed = parse_file(text.encode(encoding), "a.txt", FileOptions(source, "en"))
    assert "".join(str(segment.text) for segment in parsed.segments) == text


def test_a_named_language_chooses_among_encodings_that_fit() -> None:
    content = "ÄÖ".encode("cp1252")
    for source, expected in (("de", "ÄÖ"), ("zh", "闹")):
        (segment,) = parse_file(content, "a.txt", FileOptions(source, "en")).segments
        assert segment.text == expected


def test_every_chinese_sentence_is_read_as_it_was_written() -> None:
    path = Path(__file__).parents[2] / "data" / "sentences.zh.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        assert guessed_encoding(line.encode("gbk"), "auto") == "gb18030", line


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('<meta charset="iso-8859-1">', b'<meta charset="utf-8">'),
        ("<META charset=latin1>", b"<META charset=utf-8>"),
        (
            "<meta http-equiv=Content-Type content='text/html; charset=ISO-8859-1'>",
            b"<meta http-equiv=Content-Type content='text/html; charset=utf-8'>",
        ),
        ("<?xml version='1.0' encoding='latin1'?>", b"<?xml version='1.0' encoding='utf-8'?>"),
        ("<title>", codecs.BOM_UTF8 + b"<title>"),
    ],
)
def test_a_page_names_the_encoding_that_it_gets(head: str, expected: bytes) -> None:
    parsed = parse_file(f"{head}Café".encode("latin-1"), "a.html", FileOptions("en", "zh"))
    assert parsed.write([f"{head}书"]) == expected + "书".encode()
    assert parsed.write([f"{head}Ö"]) == f"{head}Ö".encode("latin-1")


@pytest.mark.parametrize(
    "template",
    [
        "{# one\ntwo #}",
        "{{ {'a': 1,\n 'b': 2}[c] }}",
        "{{/* one\n<b>two</b> */}}",
        "{%- include 'a'\n  b='one' -%}",
        "{% comment %} one <b>two</b>{% endcomment %}",
        "<a class='{{ b\n | c }}'></a>",
    ],
)
def test_what_makes_a_page_stays(template: str) -> None:
    front = "---\nlayout: one\n---\n"
    page = f"{front}<p>One {template} two</p>{template}<p>a</p>"
    done = translated("a.html", page.encode()).decode()
    assert done.count(template) == 2
    assert done.startswith(front)
    assert ">ONE " in done
    assert " TWO</p>" in done


NAMING = {
    "a.html": '<p>Hello</p><meta charset="{}">',
    "a.po": 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n'
    '"Language: de\\n"\n\nmsgid "Hello"\nmsgstr "Hello"\n',
    "a.xml": '<?xml version="1.0" encoding="{}"?><resources><string name="a">Hello</string>'
    "</resources>",
    "a.resx": "<?xml version='1.0' encoding='{}'?><root><data name='a'><value>Hello</value></data>"
    "</root>",
}
"""Files that name their encoding."""


@pytest.mark.parametrize("name", NAMING)
@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("ISO-8859-1", "Hi"),
        ("ISO-8859-1", "\u00e9t\u00e9"),
        ("windows-1251", "\u0434\u0430"),
        ("Shift_JIS", "\u65e5\u672c"),
        ("us-ascii", "Hi"),
    ],
)
def test_a_file_is_in_the_encoding_that_it_names_or_names_another(
    name: str, encoding: str, text: str
) -> None:
    options = FileOptions("en", "de", replaces=True)
    content = NAMING[name].format(encoding).replace("Hello", text).encode(encoding)
    parsed = parse_file(content, name, options)
    assert parsed.write([segment.text for segment in parsed.segments]) == content
    for new in ("Hallo", "\u00dcber", "\u0434\u0430", "\u4e66"):
        written = parsed.write([str(one.text).replace(text, new) for one in parsed.segments])
        named = encoding if encoding.encode() in written else "utf-8"
        assert named != "utf-8" or b"utf-8" in written.lower()
        assert new in written.decode(named)


@pytest.mark.parametrize("name", ["punycode", "unicode_escape", "utf-7", "cp037", "no-such"])
def test_a_name_that_is_no_encoding_of_a_file_is_not_followed(name: str) -> None:
    content = NAMING["a.html"].format(name).encode()
    (segment,) = parse_file(content, "a.html", OPTIONS).segments
    assert segment.text == content.decode()


@pytest.mark.parametrize("encoding", ["koi8-r", "cp1251", "shift-jis"])
def test_encodings_of_other_languages_are_refused(encoding: str) -> None:
    russian = "Сегодня хорошая погода, мы пошли гулять в парк и читали книгу."
    text = "今日は天気がいいので公園へ行きました。" if encoding == "shift-jis" else russian
    with pytest.raises(InvalidDocument, match="save it as UTF-8"):
        parse_file(f"{text}\n{text}\n".encode(encoding), "a.txt", OPTIONS)


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("other", SAMPLES)
def test_another_format_under_the_name_of_an_archive_is_refused(name: str, other: str) -> None:
    if other != name:
        with pytest.raises(InvalidDocument):
            parse_file(SAMPLES[other], name, OPTIONS)


@pytest.mark.parametrize("name", ["a", "a.exe", "", ".", "a.docx.", "a.docx/x", "a.xlsb2"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedFile, match=r"must be .txt, .md, "):
        format_of(name)


def test_no_format_that_is_read_is_refused() -> None:
    assert all(format_of(f"a{ending}") == known for ending, known in FORMATS.items())


def test_the_case_of_a_name_does_not_matter_and_a_refusal_names_what_to_save_it_as() -> None:
    assert format_of("A.B.DocX").suffix == ".docx"
    for name, other in (("a.doc", ".docx"), ("a.RTF", ".docx"), ("b.xls", ".xlsx")):
        with pytest.raises(UnsupportedFile, match=f"save '{name}' as {other}"):
            format_of(name)


XLIFF_3 = b"<xliff version='3.0'><file><trans-unit><source>a</source></trans-unit></file></xliff>"
OTHERS = {
    "a.po": [
        *(b'msgid "a', b'msgid "a"\nmsgstr "', b'msgid "a"\n', b'msgid "a" x\nmsgstr ""', b"text"),
        *(b'msgstr ""\nmsgstr ""', b"/etc/passwd"),
    ],
    "a.json": [
        *(b"{", b"[1,]", b'{"a":}', b'{"a" 1}', b"{1: 2}", b'["a"', b'"a', b'["\\x"]', b"[01]"),
        *(b"nul", b"", b'["a"] 1', b"[1 2]", b'{"a":1,}', b"NaN", b'["a\nb"]', b"}", b","),
        b"[" * 501 + b"]" * 501,
    ],
    "a.srt": [b"just text"],
    "a.vtt": [b"00:01.000 --> 00:02.000\na\n"],
    "a.csv": [b'a,b\nc,"d\n'],
    "a.eml": [b"", b"just text", b"a: b\n\ntext", b"<p>From:</p>"],
    "a.xlf": [XLIFF_3, XLIFF_3.replace(b"3.0", b"")],
    "a.xml": [b"<?xml version='1.0' encoding='latin\0'?><resources/>"],
    "a.pdf": [b"", b"%PDF-1.4", b"%PDF-1.7\n1 0 obj<</Type/Catalog>>", pdf()],
}


@pytest.mark.parametrize(
    ("name", "content"), [(name, content) for name in OTHERS for content in OTHERS[name]]
)
def test_what_is_not_of_its_format_is_refused(name: str, content: bytes) -> None:
    with pytest.raises(InvalidDocument):
        parse_file(content, name, OPTIONS)


XML_NAMES = ["a.xlf", "a.ts", "a.xml", "a.resx", "a.stringsdict"]
BOMB = b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>%s]><xliff version='1.2'>&j;</xliff>" % b"".join(
    b"<!ENTITY %c '&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;'>" % (one + 1, *[one] * 10)
    for one in range(ord("a"), ord("j"))
)
EXTERNAL = b"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><TS><name>&a;</name></TS>"
PARAMETER = b"<!DOCTYPE x [<!ENTITY % a SYSTEM 'file:///etc/passwd'> %a;]><TS/>"
DEEP = b"<a>" * 100_000 + b"</a>" * 100_000


@pytest.mark.parametrize("name", [*XML_NAMES, *ARCHIVES])
@pytest.mark.parametrize(
    ("content", "word"),
    [(BOMB, "entities"), (EXTERNAL, "entities"), (PARAMETER, "entities"), (DEEP, "deeper")],
)
def test_entities_are_never_resolved_and_deep_xml_is_refused(
    name: str, content: bytes, word: str
) -> None:
    with pytest.raises(InvalidDocument, match=word):
        parse_file(_with_xml(name, content), name, OPTIONS)


def _with_xml(name: str, content: bytes) -> bytes:
    """The content as a file of this name, in an archive as its text."""
    if name in TEXTS:
        return content
    inner = {
        "a.docx": "word/document.xml",
        "a.pptx": "ppt/slides/slide1.xml",
        "a.xlsx": "xl/sharedStrings.xml",
        "a.odt": "content.xml",
        "a.odp": "content.xml",
        "a.ods": "content.xml",
        "a.epub": "OEBPS/one page.xhtml",
    }
    with zipfile.ZipFile(io.BytesIO(SAMPLES[name])) as opened:
        members = {one: opened.read(one) for one in opened.namelist()}
    return archive({**members, inner[name]: content})


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"word/document.xml": b" " * 2**26}, "when unpacked"),
        ({"word/document.xml": b"<a/>", "media.bin": b" " * 2**26}, "when unpacked"),
        ({f"m{number}": b"" for number in range(10_000)}, "10001 members"),
    ],
    ids=["in a text", "in an untouched member", "many members"],
)
def test_an_archive_that_is_large_when_unpacked_is_refused(
    members: dict[str, bytes], words: str
) -> None:
    with pytest.raises(DocumentTooLarge, match=words):
        parse_file(package(members), "a.docx", OPTIONS)


def test_pictures_without_compression_make_no_archive_too_large() -> None:
    members = {"word/document.xml": f"<x {W}><w:t>a</w:t></x>".encode(), "a.emf": b" " * 2**23}
    assert parse_file(package(members), "a.docx", OPTIONS).segments == []


def test_a_member_that_lies_about_its_size_is_refused() -> None:
    honest = package({"word/document.xml": b"<a>" + b" " * 100_000 + b"</a>"})
    lying = honest.replace((100_007).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises(InvalidDocument):
        parse_file(lying, "a.docx", OPTIONS)


def test_two_members_of_one_name_are_refused() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as opened:
        opened.writestr("content.xml", "<a/>")
        with pytest.warns(UserWarning, match="Duplicate name"):
            opened.writestr("content.xml", "<b/>")
    with pytest.raises(InvalidDocument, match="two members of one name"):
        parse_file(written.getvalue(), "a.odt", OPTIONS)


def test_an_archive_in_an_archive_stays_closed() -> None:
    inner = archive({"x": b" " * 1000})
    members = {"content.xml": b"<office:text xmlns:office='o'/>", "Object 1": inner}
    content = archive(members)
    assert parse_file(content, "a.odt", OPTIONS).write([]) == content


@pytest.mark.parametrize("name", ARCHIVES)
def test_other_members_keep_their_bytes_and_records(name: str) -> None:
    done = translated(name, SAMPLES[name])
    with (
        zipfile.ZipFile(io.BytesIO(SAMPLES[name])) as before,
        zipfile.ZipFile(io.BytesIO(done)) as after,
    ):
        assert before.namelist() == after.namelist()
        for old, new in zip(before.infolist(), after.infolist(), strict=True):
            assert (old.date_time, old.compress_type) == (new.date_time, new.compress_type)
    if name == "a.docx":
        assert member(done, "x.bin") == b"\0"


LANGUAGES = {
    "a.html": b"<!doctype html>\n<html class=a lang=en>"
    b"<body a=b lang='EN-US'><p lang=fr>a</p></html>",
    "a.docx": {
        "word/document.xml": f"<w:d {W}><w:p><w:r><w:rPr><w:lang w:val='x' w:eastAsia='y'/></w:rPr>"
        "<w:t>a</w:t></w:r></w:p></w:d>".replace("'", '"').encode(),
        "word/styles.xml": f'<w:s {W}><w:lang w:val="en-US" w:eastAsia="en-US"/></w:s>'.encode(),
    },
    "a.pptx": {
        "ppt/presentation.xml": b"<p/>",
        "ppt/slides/slide1.xml": (
            f'<p {A}><a:p><a:r><a:rPr lang="en-US"/><a:t>a</a:t></a:r></a:p></p>'.encode()
        ),
    },
    "a.odt": {
        "content.xml": b"<x xmlns:text='t'><text:p>a</text:p></x>",
        "meta.xml": b'<x xmlns:dc="d"><dc:language>en-US</dc:language></x>',
        "styles.xml": b'<x xmlns:fo="f" xmlns:style="s"><y fo:language="en" fo:country="US" '
        b'style:language-asian="en" style:country-asian="US"/></x>',
    },
    "a.epub": {
        "META-INF/container.xml": b'<c><rootfile full-path="a.opf"/></c>',
        "a.opf": b'<p xmlns:dc="d"><dc:title>T</dc:title><dc:language>en</dc:language>'
        b'<item href="p.xhtml" media-type="application/xhtml+xml"/></p>',
        "p.xhtml": b'<html xml:lang="en" lang="en"><p>a</p></html>',
    },
    "a.md": b"---\ntitle: a\nlang: en-US\nb:\n  lang: c\n---\na\n\nlang: en\n",
    "a.qmd": b'+++\r\nlang = "en"\r\n+++\r\na\r\n',
    "a.json": b'{"locale": "en", "translations": {"locale": "a", "c": "a"}}',
}
MARKED = [
    ("de", "a.html", [b"class=a lang=de><body a=b lang='de'>", b"lang=fr"]),
    ("de", "a.docx", [b'w:val="de-DE" w:eastAsia="y"', b'w:val="de-DE" w:eastAsia="en-US"']),
    ("de", "a.pptx", [b'lang="de-DE"']),
    ("de", "a.odt", [b">de-DE<", b'fo:language="de" fo:country="DE" style:language-asian="en"']),
    ("de", "a.epub", [b"<dc:language>de<", b'<html xml:lang="de" lang="de">']),
    ("de", "a.md", [b"\nlang: de\nb:\n  lang: c\n---\nA\n\nLANG: EN\n"]),
    ("de", "a.qmd", [b'lang = "de"\r\n+++']),
    ("de", "a.json", [b'{"locale": "de", "translations": {"locale": "A", "c": "A"}}']),
    ("zh", "a.docx", [b'w:val="zh-CN" w:eastAsia="zh-CN"']),
    ("zh", "a.pptx", [b'lang="zh-CN"']),
    ("zh", "a.odt", [b'fo:language="en" fo:country="US" style:language-asian="zh"']),
]


@pytest.mark.parametrize(("target", "name", "marks"), MARKED)
def test_marks_of_the_language_follow_the_target(
    target: str, name: str, marks: list[bytes]
) -> None:
    members = LANGUAGES[name]
    content = package(members) if isinstance(members, dict) else members
    parsed = parse_file(content, name, FileOptions("en", target))
    assert parsed.write([segment.text for segment in parsed.segments]) == content
    done = parsed.write([capitals(segment.text) for segment in parsed.segments])
    if isinstance(members, dict):
        done = b"".join(member(done, one) for one in members)
    assert all(mark in done for mark in marks)


OLD = b"\xd0\xcf\x11\xe0" + b"\0" * 508
MANIFEST = b'<m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry>'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, OLD + "EncryptedPackage".encode("utf-16-le")) for name in ("a.docx", "a.xlsm")),
        *((name, OLD) for name in ("a.docx", "a.pptx", "a.xlsx")),
        ("a.odt", archive({"META-INF/manifest.xml": MANIFEST, "content.xml": b"\x88"})),
        ("a.ods", archive({"META-INF/manifest.xml": MANIFEST, "encrypted-package": b"\x88"})),
    ],
)
def test_a_file_with_a_password_is_refused_as_such(name: str, content: bytes) -> None:
    with pytest.raises(InvalidDocument, match=r"protected by a password.*; save it without one"):
        parse_file(content, name, OPTIONS)


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        *(
            (one, "ms-word.template.macroEnabledTemplate.main")
            for one in (".docm", ".dotx", ".dotm")
        ),
        *((one, "ms-excel.sheet.macroEnabled.main") for one in (".xlsm", ".xltx", ".xltm")),
        *(
            (one, "ms-powerpoint.slideshow.macroEnabled.main")
            for one in (".ppsx", ".potx", ".pptm")
        ),
        *((one, "ms-powerpoint.slideshow.macroEnabled.main") for one in (".potm", ".ppsm")),
    ],
)
def test_templates_shows_and_files_with_macros_are_read_and_macros_stay(
    suffix: str, kind: str
) -> None:
    sample = {"d": "a.docx", "x": "a.xlsx", "p": "a.pptx"}[suffix[1]]
    with zipfile.ZipFile(io.BytesIO(SAMPLES[sample])) as opened:
        members = {one: opened.read(one) for one in opened.namelist()}
    types = members["[Content_Types].xml"]
    members["[Content_Types].xml"] = regex.sub(
        rb"openxmlformats-officedocument[\w.]+\.main", kind.encode(), types
    )
    members["x/vbaProject.bin"] = b"\xd0\xcf\x11\xe0"
    done = translated(f"a{suffix}", archive(members))
    assert texts_of(f"a{suffix}", archive(members)) == texts_of(sample, SAMPLES[sample])
    assert member(done, "x/vbaProject.bin") == members["x/vbaProject.bin"]


def test_parts_are_found_by_their_types() -> None:
    vendor = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    types = (
        f'<Types><Override PartName="/Word/Main%20One.XML" ContentType="{vendor}.document.main+xml"'
        f'/><Default Extension="xml" ContentType="{vendor}.header+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="application/xml"/></Types>'
    )
    part = f"<w:d {W}><w:p><w:r><w:t>a</w:t></w:r></w:p></w:d>".encode()
    names = ["Word/Main%20One.xml", "any/head.xml", "word/document.xml"]
    content = archive({"[Content_Types].xml": types.encode(), **dict.fromkeys(names, part)})
    assert texts_of("a.docx", content) == ["a", "a"]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "a.html",
            '<html lang=en><meta http-equiv="Content-Language" content="en-US"><p>one</p>',
            '<html lang=de><meta http-equiv="Content-Language" content="de"><p>ONE</p>',
        ),
        (
            "a.html",
            "<meta content='en_US' property=og:locale><meta content=en_GB name=x><p>one",
            "<meta content='de_DE' property=og:locale><meta content=en_GB name=x><p>ONE",
        ),
        (
            "a.vtt",
            "WEBVTT - a\nKind: captions\nLanguage: en\n\n00:01.000 --> 00:02.000\none\n",
            "WEBVTT - a\nKind: captions\nLanguage: de\n\n00:01.000 --> 00:02.000\nONE\n",
        ),
        (
            "a.vtt",
            "WEBVTT\n\n00:01.000 --> 00:02.000\nLanguage: one\n",
            "WEBVTT\n\n00:01.000 --> 00:02.000\nLANGUAGE: ONE\n",
        ),
    ],
)
def test_marks_of_a_files_language_follow_the_target(name: str, before: str, after: str) -> None:
    assert translated(name, before.encode()).decode() == after
