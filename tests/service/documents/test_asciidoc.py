"""AsciiDoc: texts are translated, and the marks stay such that Asciidoctor reads the same ones.

What is expected was compared with what Asciidoctor 2.0.18 finds, which is no library of Python.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.documents.segments import FileOptions
from service.translation.markup.coded_text import Code, CodedText, Text
from tests.service.documents.samples import OPTIONS, capitals, coded, parse_file

KINDS = frozenset({"open", "close", "word", "stop"})
CHINESE = FileOptions("en", "zh")
WRITTEN = {
    "one `a, +\nb` two\n": ("ONE `a, +\nb` TWO\n", "中中中``a, +\nb``中中中\n"),
    "|===\n|one\ntwo\n\n|http://a.b _http://c.d_\n|===\n": (
        "|===\n|\nONE TWO\n\n|http://a.b _http://c.d_\n|===\n",
        "|===\n|\n中中中中中中\n\n|http://a.b _http://c.d_\n|===\n",
    ),
    ":a: https://b.c\n\nsee {a}/d[one], {a}\n`e :: f` two\n": (
        ":a: https://b.c\n\nSEE {a}/d[ONE], {a} `e :&#58; f` TWO\n",
        ":a: https://b.c\n\n中中中{zwsp}{a}/d[中中中],{zwsp}{a}[]``e :&#58; f``中中中\n",
    ),
    "= Title\nMe <a@b.c>\nv1, 2026\n:lang: en\n:description: one\n:other: two\n\nthree\n": (
        "= TITLE\nMe <a@b.c>\nv1, 2026\n:lang: zh\n:description: ONE\n:other: two\n\nTHREE\n",
        (
            "= 中中中中中\nMe <a@b.c>\nv1, 2026\n:lang: zh\n:description: 中中中\n"
            ":other: two\n\n中中中中中\n"
        ),
    ),
    "name(1)\n=======\n\nName\n----\nname - does one\n\n[verse]\n'name' <two>\n": (
        "name(1)\n=======\n\nNAME\n----\nname - DOES ONE\n\n[verse]\n'name' <two>\n",
        "name(1)\n=======\n\n中中中中\n----\nname - 中中中中中中中\n\n[verse]\n'name' <two>\n",
    ),
    "== One ==\n\ntwo\nthree\n\n four\n": (
        "== ONE ==\n\nTWO THREE\n\n four\n",
        "== 中中中 ==\n\n中中中中中中中中\n\n four\n",
    ),
    "One\n---\n\ntwo\n": (
        "ONE\n---\n\nTWO\n",
        "中中中\n---\n\n中中中\n",
    ),
    "* one\ntwo\n** three\n+\nfour\n\n. five\n* [ ] six\n<1> seven\n": (
        "* ONE TWO\n** THREE\n+\nFOUR\n\n. FIVE\n* [ ] SIX\n<1> SEVEN\n",
        (
            "* 中中中中中中\n** 中中中中中\n+\n中中中中\n\n. 中中中中\n* [ ] 中中中\n"
            "<1> 中中中中中\n"
        ),
    ),
    "one:: two\n`three`::\n  four\n--five::\n\n\tsix\n": (
        "ONE:: TWO\n`three`::\n  FOUR\n--five::\n\n\tSIX\n",
        "中中中:: 中中中\n`three`::\n  中中中中\n--five::\n\n\t中中中\n",
    ),
    "NOTE: one\n\n[TIP]\ntwo\n\n[WARNING]\n====\nthree\n====\n": (
        "NOTE: ONE\n\n[TIP]\nTWO\n\n[WARNING]\n====\nTHREE\n====\n",
        "NOTE: 中中中\n\n[TIP]\n中中中\n\n[WARNING]\n====\n中中中中中\n====\n",
    ),
    ".One\n[source,ruby]\n----\ntwo\n----\n\n[source]\nthree\n\n....\nfour\n....\n": (
        ".ONE\n[source,ruby]\n----\ntwo\n----\n\n[source]\nthree\n\n....\nfour\n....\n",
        ".中中中\n[source,ruby]\n----\ntwo\n----\n\n[source]\nthree\n\n....\nfour\n....\n",
    ),
    (
        "[quote, Me]\n____\none\n____\n\n[verse]\none\n two\n\n--\nthree\n--\n\n[plantuml]\n"
        "--\nfour\n--\n"
    ): (
        (
            "[quote, Me]\n____\nONE\n____\n\n[verse]\nONE\n TWO\n\n--\nTHREE\n--\n\n"
            "[plantuml]\n--\nfour\n--\n"
        ),
        (
            "[quote, Me]\n____\n中中中\n____\n\n[verse]\n中中中\n 中中中\n\n--\n中中中中中\n"
            "--\n\n[plantuml]\n--\nfour\n--\n"
        ),
    ),
    "////\none\n////\n// two\nthree\n// four\nfive\n": (
        "////\none\n////\n// two\nTHREE\n// four\nFIVE\n",
        "////\none\n////\n// two\n中中中中中\n// four\n中中中中\n",
    ),
    "ifdef::a[]\none\nendif::[]\ninclude::b.adoc[]\ntwo\n": (
        "ifdef::a[]\nONE\nendif::[]\ninclude::b.adoc[]\nTWO\n",
        "ifdef::a[]\n中中中\nendif::[]\ninclude::b.adoc[]\n中中中\n",
    ),
    "one +\ntwo\n\n[%hardbreaks]\nthree\nfour\n": (
        "ONE +\nTWO\n\n[%hardbreaks]\nTHREE\nFOUR\n",
        "中中中 +\n中中中\n\n[%hardbreaks]\n中中中中中\n中中中中\n",
    ),
    "image::a.png[One two, 10]\n\nimage:b.png[Three] four\n\ntoc::[]\n\na::b[c d]\n": (
        "image::a.png[ONE TWO, 10]\n\nimage:b.png[THREE] FOUR\n\ntoc::[]\n\na::b[c d]\n",
        (
            "image::a.png[中中中中中中, 10]\n\nimage:b.png[中中中中中]中中中中\n\ntoc::[]\n\n"
            "a::b[c d]\n"
        ),
    ),
    (
        '[cols="1,m,a"]\n|===\n|One |`two` |three\n\n|four\n|five\n|* six\n\n'
        "2+|seven 3*|eight\n|===\n"
    ): (
        (
            '[cols="1,m,a"]\n|===\n|ONE |`two` |THREE\n\n|FOUR\n|five\n|* SIX\n\n'
            "2+|SEVEN 3*|EIGHT\n|===\n"
        ),
        (
            '[cols="1,m,a"]\n|===\n|中中中 |`two` |中中中中中\n\n|中中中中\n|five\n'
            "|* 中中中\n\n2+|中中中中中 3*|中中中中中\n|===\n"
        ),
    ),
    ',===\none,"two, three"\n,===\n\n[format=dsv]\n|===\none:two\n|===\n': (
        ',===\nONE,"TWO, THREE"\n,===\n\n[format=dsv]\n|===\none:two\n|===\n',
        ',===\n中中中,"中中中,中中中中中"\n,===\n\n[format=dsv]\n|===\none:two\n|===\n',
    ),
    "one *two* _three_ `four` #five# six^seven^ ~eight~\n": (
        "ONE *TWO* _THREE_ `four` #FIVE# SIX^SEVEN^ ~EIGHT~\n",
        "中中中**中中中**_中中中中中_``four``##中中中中##中中中^中中中中中^~中中中中中~\n",
    ),
    "Zero [.a]#one# +two+ pass:[three] stem:[x] kbd:[Ctrl] {four} icon:a[]\n": (
        "ZERO [.a]#ONE# +two+ pass:[three] stem:[x] kbd:[Ctrl] {four} icon:a[]\n",
        "中中中中[.a]##中中中##++two++pass:[three]stem:[x]kbd:[Ctrl]{four}icon:a[]\n",
    ),
    (
        "see <<a,one>>, <<b>>, xref:c.adoc[two], link:d[three, role=e], https://f.g[four^] "
        "and https://h.i/j.\n"
    ): (
        (
            "SEE <<a,ONE>>, <<b>>, xref:c.adoc[TWO], link:d[THREE, role=e], https://f."
            "g[FOUR^] AND https://h.i/j.\n"
        ),
        (
            "中中中<<a,中中中>>,<<b>>,xref:c.adoc[中中中],link:d[中中中中中, role=e],"
            "link:https://f.g[中中中中^]中中中link:https://h.i/j[].\n"
        ),
    ),
    "one.footnote:[two https://a.b[three]] ((four)) (((five, six))) [[seven]]eight\n": (
        "ONE.footnote:[TWO https://a.b[THREE]] ((FOUR)) (((five, six))) [[seven]]EIGHT\n",
        (
            "中中中.footnote:[中中中link:https://a.b[中中中中中]]((中中中中))(((five, "
            "six)))[[seven]]中中中中中\n"
        ),
    ),
    "\"`one`\" '`two`' it`'s &copy; \\*three* {nbsp}four\n": (
        "“ONE” ‘TWO’ IT’S &copy; &#42;THREE&#42; {nbsp}FOUR\n",
        "“中中中”‘中中中’中中’中&copy;*中中中中中*{nbsp}中中中中\n",
    ),
    "see <<_one_two>>, <<One three>>\n\n== One two\n\n== One three\n": (
        (
            "SEE <<_one_two>>, <<_one_three>>\n\n[[_one_two]]\n== ONE TWO\n\n[[_one_three]]\n"
            "== ONE THREE\n"
        ),
        (
            "中中中<<_one_two>>,<<_one_three>>\n\n[[_one_two]]\n== 中中中中中中\n\n"
            "[[_one_three]]\n== 中中中中中中中中\n"
        ),
    ),
    "a\n=\n\n+one+ 'two' ``three'' `four`\n": (
        "A\n==\n\n+one+ 'TWO' “THREE” `four`\n",
        "中\n==\n\n++one++'中中中'“中中中中中”`four`\n",
    ),
}
"""A file, its translation in capitals, and one into characters without spaces."""


def chinese(text: Text) -> Text:
    """The text with a character for each letter, and no spaces."""
    parts = text.parts if isinstance(text, CodedText) else (text,)
    written = CodedText.of(_chinese(part) if isinstance(part, str) else part for part in parts)
    return written if isinstance(text, CodedText) else written.read()


def _chinese(text: str) -> str:
    return "".join("中" if char.isalpha() else char.strip() for char in text)


def written_as(source: str, translation: str) -> str:
    """The file with its first text translated so."""
    parsed = parse_file(source.encode(), "a.adoc", OPTIONS)
    others = [segment.text for segment in parsed.segments[1:]]
    return parsed.write([coded(translation), *others]).decode()


def codes(source: str) -> list[list[object]]:
    """The pairs, words and breaks of each text."""
    segments = parse_file(source.encode(), "a.adoc", OPTIONS).segments
    texts = (segment.text for segment in segments)
    return [
        [part.kind for part in text.parts if isinstance(part, Code) and part.kind in KINDS]
        for text in texts
        if isinstance(text, CodedText)
    ]


@pytest.mark.parametrize("source", WRITTEN)
def test_texts_are_translated_and_marks_and_code_stay(source: str) -> None:
    in_capitals, in_chinese = WRITTEN[source]
    parsed = parse_file(source.encode(), "a.adoc", CHINESE)
    assert parsed.write([segment.text for segment in parsed.segments]).decode() == source
    assert parsed.write([capitals(segment.text) for segment in parsed.segments]).decode() == (
        in_capitals
    )
    assert parsed.write([chinese(segment.text) for segment in parsed.segments]).decode() == (
        in_chinese
    )


@given(st.lists(st.sampled_from([*WRITTEN]), min_size=1, max_size=4))
def test_the_structure_is_that_of_the_source(blocks: list[str]) -> None:
    source = "\n".join(blocks)
    parsed = parse_file(source.encode(), "a.adoc", OPTIONS)
    for change in (capitals, chinese):
        written = parsed.write([change(segment.text) for segment in parsed.segments]).decode()
        assert codes(written) == codes(source), written


WORDS = st.text(st.sampled_from("ab中*_`+#^~[]{}<>|\\:;=.,!()\"'-&@/ "), min_size=1)
AROUND = ["one\n", "== one\n", "* one\n", ".one\n", "one::\n  two\n", "|===\n|one\n|===\n"]


@given(WORDS, st.sampled_from(AROUND))
def test_any_translation_is_read_again_as_it_is(words: str, source: str) -> None:
    translation = f"A{words}B"
    written = written_as(source, translation)
    read = parse_file(written.encode(), "a.adoc", OPTIONS).segments[0].text
    assert isinstance(read, CodedText)
    assert " ".join(read.read().split()) == " ".join(translation.split()), written
