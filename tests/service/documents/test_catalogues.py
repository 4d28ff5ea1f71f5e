"""PO, XLIFF, TS, JSON and .properties: what is asked for is filled in, all else stays."""

from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import polib
import pytest

from service.errors import InvalidDocument
from tests.service.documents.samples import (
    ARB,
    OPTIONS,
    PO,
    RESX,
    XLIFF_1,
    parse_file,
    texts_of,
    translated,
)

ALL = replace(OPTIONS, replaces=True)


def test_with_replaces_what_is_translated_is_translated_too() -> None:
    assert len(texts_of("a.po", PO, ALL)) == len(texts_of("a.po", PO)) + 1
    assert len(texts_of("a.xlf", XLIFF_1, ALL)) == len(texts_of("a.xlf", XLIFF_1)) + 1


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


def test_a_catalogue_names_the_encoding_that_it_gets(tmp_path: Path) -> None:
    head = (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n'
        '"Language: zh\\n"\n\n# Café\n'
    )
    content = f'{head}msgid "charset=x"\nmsgstr ""\n'.encode("latin-1")
    parsed = parse_file(content, "a.po", replace(OPTIONS, target="zh"))
    assert parsed.write(["Ö"]) == content.replace(b'x"\nmsgstr ""', b'x"\nmsgstr "\xd6"')
    path = tmp_path / "a.po"
    path.write_bytes(parsed.write(["书"]))
    expected = content.decode("latin-1").replace("ISO-8859-1", "UTF-8")
    assert path.read_text("utf-8") == expected.replace('x"\nmsgstr ""', 'x"\nmsgstr "书"')
    if msgfmt := shutil.which("msgfmt"):
        subprocess.run([msgfmt, "-o", "/dev/null", str(path)], check=True)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_long_and_many_lines_are_wrapped_as_gettext_does(line_end: str) -> None:
    source = f'msgid "a"{line_end}msgstr ""{line_end}'
    parsed = parse_file(source.encode(), "a.po", OPTIONS)
    text = 'say "x" \\ y\n' + "word " * 40 + "\tend\n"
    done = parsed.write([text]).decode()
    assert polib.pofile(done)[0].msgstr == text
    assert max(map(len, done.splitlines())) <= 80
    assert done.count(line_end) == done.count("\n")


@pytest.mark.parametrize("sign", [*"\x0b\x0c\x1c\x85\u2028\u2029"])
def test_only_what_gettext_takes_for_a_line_end_is_one(sign: str) -> None:
    source = f'msgid "a{sign}b"\nmsgstr ""\n\nmsgid "c"\nmsgstr ""\n'
    parsed = parse_file(source.encode(), "a.po", OPTIONS)
    assert [segment.text for segment in parsed.segments] == [f"a{sign}b", "c"]
    written = parsed.write(["d", f"e{sign}f"])
    replaced = parse_file(written, "a.po", replace(OPTIONS, replaces=True))
    assert [segment.text for segment in replaced.segments] == [f"a{sign}b", "c"]


def test_a_file_named_in_a_catalogue_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "secret\n"
    path.write_text('msgid "secret"\nmsgstr ""\n')
    for content in (str(path), str(path).rstrip()):
        with pytest.raises(InvalidDocument):
            parse_file(content.encode(), "a.po", OPTIONS)


XLIFF = "<xliff version='1.2'><file><trans-unit>{}</trans-unit></file></xliff>"


def test_line_breaks_stay_where_xliff_preserves_space() -> None:
    unit = "<source>a\nb</source></trans-unit><trans-unit><source{}>c\nd</source>"
    content = XLIFF.format(unit.format(" xml:space='preserve'")).encode()
    assert texts_of("a.xlf", content) == ["a\nb", "c<0|>d"]
    inherited = XLIFF.replace("<file", "<file xml:space='preserve'").format(unit.format(""))
    assert texts_of("a.xlf", inherited.encode()) == ["a<0|>b", "c<0|>d"]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("<source>a</source>", "<source>a</source><target>A</target>"),
        ("<source>a</source><target/>", "<source>a</source><target>A</target>"),
        ("<source>a</source><target x='y' />", "<source>a</source><target x='y'>A</target>"),
        ("<source>a</source><target> </target>", "<source>a</source><target>A</target>"),
        (
            "<source>a <bpt id='1'>&lt;b></bpt>b<ept id='1'>&lt;/b></ept></source>",
            "<source>a <bpt id='1'>&lt;b></bpt>b<ept id='1'>&lt;/b></ept></source>"
            "<target>A <bpt id='1'>&lt;b></bpt>B<ept id='1'>&lt;/b></ept></target>",
        ),
        (
            "<source>a</source><seg-source>a</seg-source><note>n</note>",
            "<source>a</source><seg-source>a</seg-source><target>A</target><note>n</note>",
        ),
        ("<source>42</source>", "<source>42</source>"),
        ("<source/>", "<source/>"),
        (
            "<source><mrk mtype='protected'>x</mrk> a</source>",
            "<source><mrk mtype='protected'>x</mrk> a</source>"
            "<target><mrk mtype='protected'>x</mrk> A</target>",
        ),
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
    ("value", "text"),
    [
        (
            "You have {n, plural, =0{no mail} other{{n} mails}} in {box}.",
            "{n, plural, =0{You have no mail in {box}.} other{You have {n} mails in {box}.}}",
        ),
        (
            "{n,plural,offset:1 one{a day}other{# days}}!",
            "{n,plural,offset:1 one{a day!}other{# days!}}",
        ),
        ("{g, select, a{He} b{She}} left", "{g, select, a{He left} b{She left}}"),
        *(
            (kept, kept)
            for kept in (
                "{n, plural, one{a day} other{# days}}",
                "{n, plural, one{a} other{#}} in {m, plural, one{b} other{#}}",
                "No. # {n, plural, one{a} other{b}}",
                "'{' {n, plural, one{a} other{b}}",
                "{n, selectordinal, one{#st} other{#th}} place",
                "{n, plural, one{a} other{b} left",
            )
        ),
    ],
)
def test_a_choice_within_a_sentence_becomes_one_of_sentences(value: str, text: str) -> None:
    unit = f"<trans-unit id='a'><source>{value}</source></trans-unit>"
    for name, content in (
        ("a.arb", json.dumps({"a": value})),
        ("a.properties", f"a={value}"),
        ("a.yml", f'a: "{value}"\n'),
        ("a.resx", f"<root><data name='a'><value>{value}</value></data></root>"),
        (
            "a.xlf",
            f"<xliff version='1.2'><file source-language='en'><body>{unit}</body></file></xliff>",
        ),
        ("a.po", f'msgid "{value}"\nmsgstr ""\n'),
    ):
        parsed = parse_file(content.encode(), name, OPTIONS)
        assert [segment.text for segment in parsed.segments] == [text]
        assert parsed.write([text]) == content.encode() or name in ("a.xlf", "a.po")
        written = parsed.write([text.upper()]).decode().replace('"\n"', "")
        assert text.upper() in written


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ('One "a"|Many b', ['One "a"', "Many b"]),
        ("{0} no a|[1,*] :n b", ["no a", ":n b"]),
        ("{0} is a|{0} are b", ["{0} is a", "{0} are b"]),
        (":n a|:n b", [":n a", ":n b"]),
        ("use a|b here", ["use a|b here"]),
        ("days|day|days", ["days", "day", "days"]),
        ("left|right|center", ["left|right|center"]),
        ("A|B", ["A|B"]),
        ("a || B", ["a || B"]),
        ("A | B c", ["A | B c"]),
    ],
)
def test_forms_of_a_plural_in_json_are_texts(value: str, texts: list[str]) -> None:
    content = json.dumps({"k": value}).encode()
    assert texts_of("a.json", content) == texts
    assert json.loads(translated("a.json", content)) == {"k": value.upper()}


@pytest.mark.parametrize(
    ("line", "text", "translation", "expected"),
    [
        ("a=b", "b", "c", "a=c"),
        ("a = b c ", "b c ", "ü", "a = \\u00fc"),
        ("a: \\u00fc\\tb", "ü\tb", "😀", "a: \\ud83d\\ude00"),
        ("a b", "b", " x", "a \\ x"),
        ("a\\ b\\==c", "c", "d", "a\\ b\\==d"),
        ("a=b\\\n   c", "bc", "d\ne", "a=d\\ne"),
        ("a={0} it''s", "{0} it's", "{0} l'a", "a={0} l''a"),
        ("a={0} is", "{0} is", "{0} l'a", "a={0} l''a"),
        ("a=it's", "it's", "l'a", "a=l'a"),
        ("ä=ö", "ö", "ü", "ä=ü"),
    ],
)
def test_values_of_properties(line: str, text: str, translation: str, expected: str) -> None:
    content = f"# c = d\n\n{line}\nn=1\n"
    parsed = parse_file(content.encode(), "a.properties", OPTIONS)
    assert [segment.text for segment in parsed.segments] == [text]
    assert parsed.write([translation]).decode() == content.replace(line, expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("use '{'3'}' in it", "USE '{'3'}' IN IT"),
        ("don''t use '{0}' here, {0}", "DON''T USE '{0}' HERE, {0}"),
        ("''{0}'' is '{'", "''{0}'' IS '{'"),
        ("use '{name}', it's it", "USE '{name}', IT'S IT"),
        ("it''s '{' or '}' '{0}'", "IT''S '{' OR '}' '{0}'"),
    ],
)
def test_quoted_braces_of_a_message_stay_quoted(value: str, expected: str) -> None:
    assert translated("a.properties", f"a={value}".encode()).decode() == f"a={expected}"


def test_only_strings_of_resx_are_translated() -> None:
    assert texts_of("a.resx", RESX) == ["Hello <b>{0}</b> & all", "Open\nthe file"]
    trees = [ElementTree.fromstring(one) for one in (RESX, translated("a.resx", RESX))]
    before, after = ([(one.attrib, one.text) for one in tree.iter()] for tree in trees)
    changed = [new[1] for old, new in zip(before, after, strict=True) if old != new]
    assert changed == ["HELLO <b>{0}</b> & ALL", " OPEN\nTHE FILE "]
    assert b"HELLO &lt;b&gt;{0}&lt;/b&gt; &amp; ALL" in translated("a.resx", RESX)


@pytest.mark.parametrize("value", ["<b>a</b>", "42", "", "true"])
def test_other_values_of_resx_stay(value: str) -> None:
    content = f"<root><data name='a'><value>{value}</value></data></root>"
    assert texts_of("a.resx", content.encode()) == []


def test_other_xml_is_no_resx() -> None:
    with pytest.raises(InvalidDocument, match=r"not \.resx"):
        parse_file(b"<data><value>a</value></data>", "a.resx", OPTIONS)


def test_the_language_of_arb_follows_the_target_and_what_describes_stays() -> None:
    before, after = json.loads(ARB), json.loads(translated("a.arb", ARB))
    texts = {"@@locale": "de", "hello": "HELLO {NAME}"}
    changed = {key: value for key, value in after.items() if value != before[key]}
    assert list(changed) == ["@@locale", "hello", "files", "by"]
    assert changed.items() >= texts.items()


def test_a_date_pattern_is_its_own_translation() -> None:
    source = b'msgid "F j, Y"\nmsgstr ""\n\nmsgid "Yes, my dad"\nmsgstr ""\n'
    assert texts_of("a.po", source) == ["Yes, my dad"]
    assert b'msgstr "F j, Y"\n' in translated("a.po", source)
    head = b"<xliff version='1.2'><file source-language='en'><body><trans-unit id='1'><source>"
    units = b"A day</source></trans-unit><trans-unit id='2'><source>F j, Y</source></trans-unit>"
    source = head + units + b"</body></file></xliff>"
    assert texts_of("a.xlf", source) == ["A day"]
    assert b"<target>F j, Y</target>" in translated("a.xlf", source)
    words = ["Do my dad", "Y/N", "A Day", "Daddy, MM", "HH Mad", "My"]
    assert texts_of("a.json", json.dumps(words).encode()) == words


def test_values_of_programs_stay() -> None:
    assert texts_of("a.json", b'["true", "false", "null", "42", "True story"]') == ["True story"]
    assert texts_of("a.properties", b"a=true\nb= False\nc=8080\nd=#fff\n") == ["#fff"]


@pytest.mark.parametrize(
    "value",
    [
        *("en-US", "zh_Hant_TW", "de_DE.UTF-8", "es-419", "sr-Latn", "getting-started", "btn-2"),
        *("arrow_right", "text/html", "image/svg+xml", "text/css; charset=utf-8", "user:read"),
        *("api/v1/users", "./img/logo.png", "/about", "a.b.c", "v1.2.3", "@scope/pkg"),
        *("collections.Shuffle", "os.path.Join()"),
        *(
            "⌘⇧S",
            "%lld",
            "%1$@ / %d",
            "README.MD",
            "Logo@2x.png",
            "Ger\u00e4t.pdf",
            "docs/Intro.html",
        ),
        *("d MMMM yyyy", "dddd, MMMM Do, YYYY h:mm A", "D MMM YYYY [at] HH:mm", "yyyy年M月d日"),
        *("d. MMM yy 'um' HH:mm", "h:mm a", "F j, Y", "l, d.m.Y H:i", "M jS, Y, P"),
    ],
)
def test_identifiers_stay(value: str) -> None:
    assert texts_of("a.json", json.dumps([value, f" {value}"]).encode()) == []
    assert texts_of("a.properties", f"a={value}".encode()) == []
    assert texts_of("a.csv", f'"{value}";x y'.encode()) == ["x y"]


@pytest.mark.parametrize(
    "value",
    [
        *(
            "Read-only",
            "E-Mail",
            "Yes/No",
            "save",
            "The end.",
            "e.g. this",
            "Mr.Smith",
            "OK",
            "U.S.",
        ),
        *(
            "well-known words",
            "\u4fdd\u5b58-\u53d6\u6d88",
            "Open...",
            "/",
            "en",
            "Co-Op",
            "{a}/b c",
        ),
    ],
)
def test_words_are_no_identifiers(value: str) -> None:
    assert texts_of("a.json", json.dumps([value]).encode()) == [value] * (value != "/")


def test_properties_in_latin_1() -> None:
    parsed = parse_file(b"a=caf\xe9\n", "a.properties", OPTIONS)
    assert parsed.segments[0].text == "café"
    assert parsed.write(["é €"]) == b"a=\xe9 \\u20ac\n"


HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={}\\n"\n{}\n'
ENTRY = 'msgid "a %d"\nmsgid_plural "b %d"\nmsgstr[0] ""\nmsgstr[1] ""\n'
OPEN = '"Language: \\n"\n"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n'
FRENCH = '"Language: fr\\n"\n"Plural-Forms: nplurals=2; plural=(n > 1);\\n"\n'


@pytest.mark.parametrize("fields", ["", '"Language:\\n"\n', OPEN, FRENCH])
@pytest.mark.parametrize(
    ("target", "expected", "forms"),
    [
        ("de", "nplurals=2; plural=(n != 1);", ["A %D", "B %D"]),
        ("zh", "nplurals=1; plural=0;", ["B %D"]),
        ("ru", "nplurals=3; plural=n % 10 == 1", ["A %D", "B %D", "B %D"]),
    ],
)
def test_a_template_becomes_a_catalogue_of_the_target(
    fields: str, target: str, expected: str, forms: list[str], tmp_path: Path
) -> None:
    content = (HEADER.format("CHARSET", fields) + ENTRY).encode()
    path = tmp_path / "a.po"
    path.write_bytes(translated("a.pot", content, replace(OPTIONS, target=target)))
    read = polib.pofile(str(path))
    assert read.metadata["Content-Type"] == "text/plain; charset=UTF-8"
    assert read.metadata["Language"] == target
    assert read.metadata["Plural-Forms"].startswith(expected)
    assert [read[0].msgstr_plural[form] for form in range(len(read[0].msgstr_plural))] == forms
    if msgfmt := shutil.which("msgfmt"):
        subprocess.run([msgfmt, "--check-header", "-o", "/dev/null", str(path)], check=True)


def test_the_header_of_a_catalogue_that_is_begun_stays() -> None:
    begun = HEADER.format("UTF-8", FRENCH) + 'msgid "yes"\nmsgstr "oui"\n\n' + ENTRY
    done = translated("a.po", begun.encode(), replace(OPTIONS, target="zh")).decode()
    assert done == begun.replace('[0] ""', '[0] "A %D"').replace('[1] ""', '[1] "B %D"')


@pytest.mark.parametrize("translation", ["", "<numerusform/>", "oui"])
def test_the_language_of_a_ts_file_is_that_of_its_translations(translation: str) -> None:
    message = "<message><source>{}</source><translation>{}</translation></message>"
    content = (
        f"<TS language='fr_FR'>{message.format('yes', translation)}{message.format('no', '')}</TS>"
    )
    expected = "fr_FR" if translation == "oui" else "de"
    assert f"language='{expected}'" in translated("a.ts", content.encode()).decode()
    assert "language='de'" in translated("a.ts", content.encode(), ALL).decode()
