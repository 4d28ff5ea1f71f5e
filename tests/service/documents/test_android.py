"""Android's string resources are read and written by the rules of its resource compiler."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from service.documents.formats import parse_file
from service.errors import InvalidDocument
from tests.service.documents.samples import ANDROID, OPTIONS, coded, shown, texts_of, translated

RESOURCES = "<resources xmlns:tools='t' xmlns:xliff='x'>{}</resources>"
STRING = RESOURCES.format("<string name='a'>{}</string>")


@pytest.mark.parametrize(
    ("written", "text", "translation", "expected"),
    [
        (r"It\'s", "It's", "C'est", r"C\'est"),
        (r"a \"b\"", 'a "b"', '"c" d', r"\"c\" d"),
        (r"a\nb\tc", "a\nb\tc", "d\n\te", r"d\n\te"),
        (r"a \\ b", r"a \ b", r"c \ d", r"c \\ d"),
        (r"\@home", "@home", "@Haus", r"\@Haus"),
        (r"a\?", "a?", "?b", r"\?b"),
        (r"\u00e9\ud83d\ude00 a", "é😀 a", "😀", "😀"),
        ("a\n   b ", "a b", "c", "c "),
        ("a", "a", " b  c ", r"\u0020b \u0020c\u0020"),
        ('"it\'s  a"', "it's  a", "c'est  b", '"c\'est  b"'),
        ('" a\n b"', " a\n b", " c\n d", r'" c\n d"'),
        ("a &amp; b", "a & b", "c < d & e", "c &lt; d &amp; e"),
        ("&lt;b&gt;a&lt;/b&gt;", "<b>a</b>", "<b>c</b>", "&lt;b&gt;c&lt;/b&gt;"),
        (
            '<![CDATA[<i x=\\"y\\">a</i>]]>',
            '<i x="y">a</i>',
            '<i x="y">l\'b</i>',
            r"<![CDATA[<i x=\"y\">l\'b</i>]]>",
        ),
        ("<b>a</b>\\nb", "<0>a</0><1|>b", "<0>l'a</0><1|>c", r"<b>l\'a</b>\nc"),
        (
            " <xliff:g id='n'>%s</xliff:g> is a",
            "<xliff:g id='n'>%s</xliff:g> is a",
            None,
            " <xliff:g id='n'>%s</xliff:g> IS A",
        ),
    ],
)
def test_strings_are_read_and_written(
    written: str, text: str, translation: str | None, expected: str
) -> None:
    content = STRING.format(written).encode()
    parsed = parse_file(content, "a.xml", OPTIONS)
    (segment,) = parsed.segments
    assert shown(segment.text) == text
    if translation is None:
        done = translated("a.xml", content)
    else:
        is_text = isinstance(segment.text, str)
        done = parsed.write([translation if is_text else coded(translation)])
    assert done.decode() == STRING.format(expected)


@pytest.mark.parametrize(
    "resource",
    [
        "<string name='a' translatable='false'>a</string>",
        "<string name='a' tools:ignore='Typos,MissingTranslation'>a</string>",
        "<string name='a'>@string/b</string>",
        "<string name='a'> ?android:attr/text </string>",
        "<string name='a'>42</string>",
        "<string name='a'/>",
        "<string-array name='a' translatable='false'><item>a</item></string-array>",
        "<style name='a'><item name='b'>c</item></style>",
        "<color name='a'>red</color>",
    ],
)
def test_other_resources_stay(resource: str) -> None:
    assert texts_of("a.xml", RESOURCES.format(resource).encode()) == []


def test_names_and_quantities_stay() -> None:
    before, after = (
        [element.attrib for element in ElementTree.fromstring(content).iter()]
        for content in (ANDROID, translated("a.xml", ANDROID))
    )
    assert before == after


def test_other_xml_is_refused() -> None:
    with pytest.raises(InvalidDocument, match=r"Android's, .* <resources>; got '<note>'"):
        parse_file(b"<?xml version='1.0'?><note><string>a</string></note>", "a.xml", OPTIONS)


def test_names_that_the_document_type_declares_stay() -> None:
    head = "<!DOCTYPE resources [\n  <!ENTITY APP 'The app'>\n]>"
    source = head + STRING.format(r"open &APP;\nor <b>&APP;</b> &amp; go") + "\n"
    done = head + STRING.format(r"OPEN &APP;\nOR <b>&APP;</b> &amp; GO") + "\n"
    assert translated("a.xml", source.encode()).decode() == done
    assert not texts_of("a.xml", (head + STRING.format("&APP; ")).encode())
    for value in ("a&amp;b;", "<i/>", "&#37;a", "a" * 300):
        with pytest.raises(InvalidDocument, match="entities"):
            translated("a.xml", source.replace("The app", value).encode())


def test_names_that_a_picture_declares_stay() -> None:
    """As programs for drawing declare namespaces."""
    head = "<!DOCTYPE svg [<!ENTITY ns 'http://www.w3.org/2000/svg'><!ENTITY APP 'The app'>]>"
    source = f"{head}<svg xmlns='&ns;'><title>open &APP; now</title><text>&APP;</text></svg>"
    done = source.replace("open", "OPEN").replace("now", "NOW")
    assert translated("a.svg", source.encode()).decode() == done
