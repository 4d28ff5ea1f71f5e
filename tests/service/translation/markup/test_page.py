"""The parts of a page or a plain text join to its source, and its flows are the running text."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from service.translation.markup.choices import message_branches
from service.translation.markup.coded_text import TextPart
from service.translation.markup.elements import is_block
from service.translation.markup.flow import MARK, Flow
from service.translation.markup.inline import has_marks, text_flow
from service.translation.markup.page import take_apart
from service.translation.placeholders import KeptStrings, find_kept, has_kept
from tests.service.translation.code_tokens import MARKS, NAMED_MARKS
from tests.service.translation.markup.test_scanner import MARKUP

PAGES = st.lists(
    st.sampled_from(
        [
            *("<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<a href='x'>", "</a>", "<br>"),
            *(
                "<code>",
                "</code>",
                "<span translate=no>",
                "</span>",
                "<b translate=yes>",
                "<pre>",
                "</pre>",
            ),
            *("<x1>", "</x1>", "<p title=Hi>", "<img alt='c d'>", "<!-- a -->"),
            *("&amp;", "&nbsp;", "&nbsp", "&#65;", "&foo;", "&#0;", "&", "  \n", MARK, "\ufffd"),
            *("<sub>", "</sub>", "<sup>", "</sup>", "H", "2", "st", "+"),
            *("{name}", "https://a.b/c", "%s", " ", ".", "word", "Hello", "你好", "😀"),
        ]
    ),
    max_size=30,
).map("".join)


def spelled(parts: Sequence[TextPart | Flow]) -> list[TextPart]:
    """The parts as the source has them."""
    written: list[TextPart] = []
    for part in parts:
        if not isinstance(part, Flow):
            written.append(part)
            continue
        position = 0
        for tag in part.tags:
            written += [*part.spell(position, tag.offset), *spelled(tag.written)]
            position = tag.offset
        written += part.spell(position, len(part.text))
    return written


def source_of(parts: Sequence[TextPart | Flow]) -> str:
    """The source without codes that has the parts."""
    return "".join(map(str, spelled(parts)))


@settings(deadline=None, max_examples=400)
@given(st.one_of(PAGES, MARKUP, st.text(max_size=40)))
@example("<Q>0<</Q><Q>0")
@example("0 <i></i>&#1;")
def test_the_parts_spell_the_page(source: str) -> None:
    found = source_of(take_apart(source))
    assert found.replace('"', "") == source.replace('"', "")
    if "title=" not in source and "alt=" not in source:
        assert found == source


def texts(source: str, keep: Sequence[str] = ()) -> list[str]:
    """What is to be translated: flows and attributes, with marks."""
    found = []
    for part in take_apart(source, functools.partial(find_kept, keep=KeptStrings(keep))):
        if isinstance(part, Flow):
            found += [part.text] if part.text.strip() else []
            found += [p.text for tag in part.tags for p in tag.written if isinstance(p, Flow)]
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>One <b>two</b>.</p><p>Three.</p>", ["One two.", "Three."]),
        ("one<br>two", ["one", "two"]),
        ("<ul><li>A b<li>C d</ul>", ["A b", "C d"]),
        ("a\n   b", ["a b"]),
        ("Fish &amp; chips &lt;b&gt;", [f"Fish & chips {MARK}"]),
        ("Use <code>a < b</code> here", [f"Use {MARK} here"]),
        ("Use <code></code> here", ["Use here"]),
        ('Page <x id="5"></x> of <b><x id="9"/></b>', [f"Page {MARK} of {MARK}"]),
        ("Hi <ph/>, press <img src=a> or <svg><a/></svg>", [f"Hi {MARK}, press {MARK} or"]),
        ("请点击<x/>按钮", [f"请点击{MARK}按钮"]),
        ("<x/> Save it<x/> super<x/>market <i></i>", ["Save it supermarket"]),
        ("see <a id=top></a> <wbr><!-- --> <b></b> <img alt=it> here", ["see here", "it"]),
        ("x<script>var a = 'Hello';</script>y", ["x", "y"]),
        ("<style>p {}</style><pre>Keep\n  me</pre>Hi", ["Hi"]),
        ('<div class="notranslate"><p>Keep</p></div>Hi', ["Hi"]),
        ('I <span translate="no">😀</span> you', ["I you"]),
        ('<img alt="A red car" src="a.png">', ["A red car"]),
        ("<input placeholder=Name>", ["Name"]),
        ("<select><optgroup label='One' data-label=a></select>", ["One"]),
        ('<TabItem label="One" value="two">x</TabItem>', ["One", "x"]),
        ("<TD LABEL=One>x</TD><tab-item label=One>x</tab-item>", ["x", "x"]),
        ("<p title='1 2'>Hi</p>", ["Hi"]),
        ("<a>One</a>\n<a>Two</a>\n<a>Three</a> end", ["One", "Two", "Three end"]),
        ("<a>One</a> | <a>Two</a> | <b><a>Three</a></b>", ["One | Two | Three"]),
        ("in <a>New</a> <a>York</a> <b>now</b>", ["in New York now"]),
        ("<a>A</a>, <a>B</a>, <a>C</a> and", ["A, B, C and"]),
        ('<a class="x" aria-label="Go home">⌂</a>', ["Go home"]),
        ('<img data-alt="No" alt="">', []),
        ("<b>un</b><i>seen</i>", ["unseen"]),
        ("Hi &unknown; you", [f"Hi {MARK} you"]),
        ("A house&nbsp is &copy by x&copys", ["A house\u00a0 is © by x&copys"]),
        ("<title>My page</title><h1>Big</h1>", ["My page", "Big"]),
        ("<input type=submit value='Send it'><input value='Keep'>", ["Send it"]),
        ('<meta property="og:title" content="My page"><meta name=author content=Bob>', ["My page"]),
        ("<doc><item>One <g>two</g>.</item><item>Three.</item></doc>", ["One two.", "Three."]),
        ("<svg><text>Hi</text></svg> there", [f"{MARK} there"]),
        ("a <m:math><m:mi>x</m:mi></m:math>", [f"a {MARK}"]),
        ("E = mc<sup>2</sup>, H<sub>2</sub>O", [f"E = {MARK}, {MARK}"]),
        ("a<sub>ij</sub>, <i>x</i><sup>n+1</sup> log<sub>2</sub>", [f"{MARK}, {MARK} {MARK}"]),
        ("the NA<sub>f </sub>of 5 m<sup>2 </sup>.", [f"the {MARK}of 5 {MARK}."]),
        ("the 21<sup>st</sup> century", ["the 21st century"]),
        ("a word<sup>1</sup> and.<sup><a>[2]</a></sup> Then", ["a word and. Then"]),
        *(
            (f"a word{start}1{end}{start}2{end} is, and.{start}[2]{end}", ["a word is, and."])
            for start, end in [
                ("<a href='#f'>", "</a>"),
                ("<a><span>", "</span></a>"),
                ("<small><a>", "</a></small>"),
                ("<i>", "</i>"),
            ]
        ),
        ("如图<a>1</a>，词<a role='doc-noteref'>2</a>是", ["如图1，词是"]),
        ("a word<b>1</b>st, Page<a>1</a>.5, log<sub>2</sub>", [f"a {MARK}, {MARK}, {MARK}"]),
        ("it costs <b>€2.50</b> now", ["it costs €2.50 now"]),
        ("Press <button>OK</button>, then go", ["Press OK, then go"]),
        ("Press <button title=It><i></i>OK</button> to <b>go</b>", ["Press OK to go", "It"]),
        ("the <label>email</label> or <output>it</output> here", ["the email or it here"]),
        ("Press <button translate=no>OK</button> now", [f"Press {MARK} now"]),
        ("the bar <meter></meter> shows it", [f"the bar {MARK} shows it"]),
        ("in <input> years, see <video><source></video> and", [f"in {MARK} years, see {MARK} and"]),
        ("see <iframe src=a></iframe>, then go", [f"see {MARK}, then go"]),
        ("请按<button>确定</button>，写<input>个", [f"请按确定，写{MARK}个"]),
        ("pick <select><option>a<option>b</select>, then", ["pick", "a", "b", ", then"]),
        ("<button>Save</button> <button>Go</button>", ["Save", "Go"]),
        ("<label>Name</label> <input> <label>age</label>", ["Name", "age"]),
        ("Name: <input> age: <input> <button>go</button>", ["Name:", "age:", "go"]),
        ("First <input> Last <input>", ["First", "Last"]),
        ("Save it. <button>ok</button> now", ["Save it.", "ok", "now"]),
        ("a <button><div>b</div></button> c", ["a", "b", "c"]),
        ("in <ruby>北<rp>(</rp><rt>a</rt><rp>)</rp>京<rt>b</rt></ruby>的", ["in 北京的"]),
        ("<p translate=no>a <b translate=yes>b <i>c</i></b> d</p> e", ["b c", "e"]),
        (
            "<div class=notranslate>a<p translate='yes'>b <i translate=no>c</i> d</p>e</div>",
            [f"b {MARK} d"],
        ),
        (
            "<p translate=no>a <b translate=yes>b <i class=notranslate>c "
            "<u translate=yes>d</u></i></b> e</p>",
            ["b", "d"],
        ),
        ("<ruby>漢<rt>a<rt>b</ruby> it", ["漢 it"]),
    ],
)
def test_flows_are_what_a_reader_sees_as_running_text(source: str, expected: list[str]) -> None:
    assert [text.strip() for text in texts(source)] == expected


def test_the_number_of_a_note_stays_behind_its_word() -> None:
    source = "使用网络<sup>3</sup>来<b>看</b>词<a role='doc-noteref'>[1]</a>。"
    (flow,) = (part for part in take_apart(source) if isinstance(part, Flow))
    assert [tag.is_note for tag in flow.tags] == [True, False, False, True]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("{n, plural, one {# file} other {# files}} ", [f"{MARK} file", f"{MARK} files"]),
        ("{a, select, x {{n, plural, other {They}}} other {It}}", ["They", "It"]),
        ("{n, plural, other {#个文件}}", [f"{MARK}个文件"]),
        ("{0, number} {0, plural, one {a} other {b}}", ["a", "b"]),
        ("{a, plural, other {b}} ({c, plural, one {d} other {e}}): {f}/7", ["b", "d", "e"]),
        ("{a, plural, other {b}} of {c, plural, other {# <i>d</i>}}", ["b", f"{MARK} d"]),
        ("I {n, plural, one {a} other {b {c, select, d {e} other {#}} f}}.", ["a", f"b {MARK} f"]),
        ("<b>{n, plural, one {a} other {b}}</b> left", ["a", "b"]),
        ("{0,choice,0#no a|1#one b|1<{0} c}", ["no a", "one b", f"{MARK} c"]),
        ("In {0, choice, -1.5≤a|1#b {1,choice,0#c|1<d}}.", ["a", f"b {MARK}"]),
        ("{0,choice,a|b}", []),
        ("'{' {n, plural, one {a} other {b}} left", []),
        ("`{n, plural, one {a} other {b}}` left", []),
        ("a {n, plural, one {a} other {b} left", []),
        ("{n, plural, one {a} other {b}", []),
    ],
)
def test_the_branches_of_a_message_are_texts(message: str, expected: list[str]) -> None:
    flow = text_flow(message)
    assert source_of([flow]) == message
    assert branches_of(flow) == expected


def test_a_message_of_choices_in_each_other_without_end_has_no_branches() -> None:
    message = "{n, plural, other {" * 2000 + "a" + "}}" * 2000
    assert message_branches(message) == []
    assert len(branches_of(text_flow("{n, plural, other {" * 9 + "a" + "}}" * 9))) == 1


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<s><key>Ctrl</key><key>C</key></s>", "Ctrl C"),
        ("<0>Terms</0><1>of use</1>", "Terms of use"),
        ("<key>Ctrl</key> <key>C</key>", "Ctrl C"),
        ("<key>-</key><key>C</key>", "-C"),
        ("<b>Hel</b><i>lo</i>", "Hello"),
        ("<key>Hel<key>lo</key></key>", "Hello"),
    ],
)
def test_elements_that_touch_are_words_unless_html_knows_them(source: str, text: str) -> None:
    flow = text_flow(source)
    assert flow.text == text
    assert source_of([flow]) == source


def branches_of(flow: Flow) -> list[str]:
    written = [*(tag.written for tag in flow.tags), *(kept.parts for kept in flow.kept)]
    inner = [part for parts in written for part in parts if isinstance(part, Flow)]
    return [text for part in inner for text in ([part.text] if part.text else branches_of(part))]


@pytest.mark.parametrize("tag", ["b", "i", "a href='x'"])
def test_blank_lines_and_items_end_a_paragraph_in_what_may_be_a_text(tag: str) -> None:
    name = tag.split()[0]
    source = (
        f"One\n\ntwo\r\n \r\n<{tag}>three\n\nfour</{name}> five\nsix\n\n```\na\n\nb\n``` c"
        "\n- seven\n  * eight\n12. nine\n## ten -\neleven"
    )
    parts = take_apart(source, has_paragraphs=True)
    assert source_of(parts) == source
    found = [part.text.strip() for part in parts if isinstance(part, Flow)]
    items = ["- seven", "* eight", "12. nine", "## ten - eleven"]
    assert found == ["One", "two", "three", "four five six", f"{MARK} c", *items]
    (page,) = (part for part in take_apart(source) if isinstance(part, Flow))
    assert page.text.startswith("One two three four")


def test_strings_to_keep_are_marked_across_entities() -> None:
    (flow,) = take_apart(
        "See R&amp;D at https://a.b/?x=1&amp;y=2 now",
        functools.partial(find_kept, keep=KeptStrings(["R&D"])),
    )
    assert isinstance(flow, Flow)
    assert flow.text == f"See {MARK} at {MARK} now"
    assert ["".join(map(str, kept.written)) for kept in flow.kept] == [
        "R&amp;D",
        "https://a.b/?x=1&amp;y=2",
    ]
    assert [kept.text for kept in flow.kept] == ["R&D", "https://a.b/?x=1&y=2"]


def test_tags_within_a_kept_string_stay_where_they_are() -> None:
    (flow,) = take_apart("{n, plural, one {<b>#</b> file} other {# files}} here")
    assert isinstance(flow, Flow)
    assert flow.text == f"{MARK} here"
    assert flow.kept[0].written == ("{n, plural, one {<b>#</b> file} other {# files}}",)
    assert not flow.tags


@pytest.mark.parametrize(
    ("tag", "target", "is_kept"),
    [
        *(("<p lang=de>", "de", True), ('<p xml:lang="de-AT">', "de", True)),
        *(("<p lang='zh-TW'>", "zh-Hant", True), ("<p lang=zh-TW>", "zh", False)),
        *(("<p lang=en>", "de", False), ("<p data-lang=de>", "de", False), ("<p>", "de", False)),
        ("<html lang=de>", "de", False),
    ],
)
def test_what_is_marked_as_in_the_target_language_stays(
    tag: str, target: str, is_kept: bool
) -> None:
    end = f"</{tag[1:].split()[0].rstrip('>')}>"
    found = take_apart(f"{tag}Tee{end}", target=target)
    assert any(isinstance(part, Flow) for part in found) != is_kept


def parts(text: str, *, is_spaced: bool = True) -> tuple[str, list[tuple[int, str]], list[str]]:
    """The text, its tags with their places, and its kept strings."""
    flow = text_flow(text, is_spaced=is_spaced)
    tags = [(tag.offset, str(tag.written[0])) for tag in flow.tags]
    return flow.text, tags, [kept.text for kept in flow.kept]


@given(MARKS, st.sampled_from(["", "Read ", "Read, “"]), st.sampled_from(["", ".", " first!"]))
def test_two_marks_that_touch_the_words_between_them_are_tags(
    marks: tuple[str, str], before: str, after: str
) -> None:
    text = f"{before}{marks[0]}our terms{marks[1]}{after}"
    start, end = len(before), len(before) + len("our terms")
    assert parts(text) == (f"{before}our terms{after}", [(start, marks[0]), (end, marks[1])], [])


_SHORTCODES = st.sampled_from([("[url=https://a.b]", "[/url]"), ('[a-b id="1" c=d e]', "[/a-b]")])


@given(st.one_of(NAMED_MARKS, _SHORTCODES, st.sampled_from([("**", "**"), ("*", "*")])))
def test_without_spaces_between_words_marks_that_say_their_end_are_tags(
    marks: tuple[str, str],
) -> None:
    assume(not is_block(marks[0].strip("<>")))
    text, tags, _ = parts(f"请阅读{marks[0]}条款{marks[1]}。", is_spaced=False)
    assert (text, tags) == ("请阅读条款。", [(3, marks[0]), (5, marks[1])])


@pytest.mark.parametrize(
    ("text", "is_spaced"),
    [
        (r"\*not\* \**it\**", True),
        *(("{name}s of {n}px, {c}d", True), ("Send {a} to {b}.", True), ("<b>no end", True)),
        *(("2*3*4 = 5 * 6, *args, **kw", True), ("Price* and tax*", True), ("[1]Note[2]", True)),
        *(("the 5_000 and __init__ of a_b_c", True), ("from %s to %s%", True)),
        ("Use https://a.b/c[id]/d or https://a.b/[id].", True),
        *(("{{a}} our {{b}}", True), ("你有{a}条消息和{b}封邮件。", False)),
        *(("第1~3页和5~7页", False), ("好的~谢谢~", False), ("第3*4页和5*6页", False)),
        *(("把 *a 置为1，将 *b 置为2", False), ("*必填", False)),
        *(("the __init__ of __a_b__ and __MAX__", True), ("a__b and c__", True)),
    ],
)
def test_other_marks_are_no_tags(text: str, is_spaced: bool) -> None:
    assert parts(text, is_spaced=is_spaced)[1] == []


def test_pairs_nest() -> None:
    text, tags, _ = parts("say {{a}}*hi* there{{/a}} {b}you{/b}")
    assert text == "say hi there you"
    assert [written for _, written in tags] == ["{{a}}", "*", "*", "{{/a}}", "{b}", "{/b}"]


@given(st.lists(st.sampled_from(["p", "li", "div", "summary"]), min_size=2, max_size=4))
def test_elements_that_stand_below_each_other_are_not_one_word(names: list[str]) -> None:
    html = "".join(f"<{name}>One <b>dog</b></{name}>" for name in names)
    for text in (html, html.replace("<", "&lt;").replace(">", "&gt;")):
        flow = text_flow(text)
        assert flow.text.split("\n") == ["One dog"] * len(names)
        assert source_of([flow]) == text


@pytest.mark.parametrize(
    ("text", "read", "tags"),
    [
        ("&Open file", "Open file", [(0, "&")]),
        ("E&xit", "Exit", [(1, "&")]),
        ("Save p&rofile…", "Save profile…", [(6, "&")]),
        ("Save _As...", "Save As...", [(5, "_")]),
        ("&打开", "打开", [(0, "&")]),
        (
            "Read [our terms](https://a.b/c_(d)).",
            "Read our terms.",
            [(5, "["), (14, "](https://a.b/c_(d))")],
        ),
        (
            "![A **red** dog](a.png)",
            "A red dog",
            [(0, "!["), (2, "**"), (5, "**"), (9, "](a.png)")],
        ),
        (r"Is \emph{very} big", "Is very big", [(3, r"\emph{"), (7, "}")]),
        *(
            (f"Read {start}our terms{end}.", "Read our terms.", [(5, start), (14, end)])
            for start, end in [
                ("[", "|https://a.b/c]"),
                ("https://a.b/c[", "]"),
                ("link:c.html[", "]"),
                ("xref:c.adoc#d[", "]"),
                ("<<c.adoc#d,", ">>"),
                ("<<the-terms, ", ">>"),
                ("`", " <https://a.b/c_(d)>`_"),
                ("`", " <https://a.b/c>`__"),
                *((f":{role}:`", " <c/d>`") for role in ("ref", "doc", "term", "std:ref")),
            ]
        ),
        *((same, same, []) for same in ("R&D, Q&A, M&Ms", "Tom & Jerry", "Cancel (&C)", "a](b.c)")),
        *((same, same, []) for same in ("black&white", "&Open &file", "the _id of it", "[ab] (y)")),
        *((same, same, []) for same in ("a << b, c >> d", "<<a b,c d>>", "<<a,>> b")),
    ],
)
def test_links_and_keys_are_tags(text: str, read: str, tags: list[tuple[int, str]]) -> None:
    assert parts(text) == (read, tags, [])
    assert not tags or has_marks(text) or has_kept(text)


@pytest.mark.parametrize("code", ["`our a <b>`", ":func:`our a <b>`", "``a <b>`_``"])
def test_code_in_backquotes_is_no_link(code: str) -> None:
    assert parts(f"Set {code} to it") == (f"Set {MARK} to it", [], [code])


@pytest.mark.parametrize("name", ["n_jobs", "x_axis", "X_train", "n_bytes=0"])
def test_a_name_of_code_has_no_key(name: str) -> None:
    assert parts(f"Set {name} to it") == (f"Set {MARK} to it", [], [name])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"It\'s 100\% free, \$5 for R\&D", "It's 100% free, $5 for R&D"),
        ("F&uuml;r Gr&ouml;&szlig;e, Caf&#233; &#xC4;", "Für Größe, Café Ä"),
        (r"Hello\nworld.\r\nIt is:\n\tOne", "Hello\nworld.\r\nIt is:\n\tOne"),
        (r"一行\n二行\n", "一行\n二行\n"),
        ("Done.%nGo%non, %nIt. 5%not, %natural", "Done.\nGo\non, \nIt. 5%not, %natural"),
        *(
            (rf"see {path} here", f"see {MARK} here")
            for path in (r"C:\new", r".\new", r"src\new\a")
        ),
        *((rf"see {path} here", f"see {MARK} here") for path in (r"CORP\nadia", r"src\new.txt")),
    ],
)
def test_escaped_characters_are_read_as_themselves_but_not_in_paths(text: str, read: str) -> None:
    flow = text_flow(text)
    assert flow.text == read
    assert source_of([flow]) == text


ODD_PIECES = ("\\n", "%n", "\\'", "\\%", "&a", "_B", "[a](", "[", "](b.c)", "\n")


@given(
    st.lists(
        st.sampled_from(["{a}", "{/a}", "**", "_", "%s", "<b>", "</b>", "a", " ", *ODD_PIECES])
    )
)
def test_no_character_is_lost(pieces: list[str]) -> None:
    assert source_of([text_flow("".join(pieces))]) == "".join(pieces)
