"""Subtitles: sentences run through cues, and translations are laid back over them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.documents.cue_layout import CueLayout
from service.documents.segments import FileOptions
from service.errors import InvalidDocument
from service.translation.markup.coded_text import CodedText
from tests.service.documents.samples import OPTIONS, coded, parse_file, shown, texts_of, translated


def srt(*texts: str, gap: int = 0) -> bytes:
    """A cue of a second for each text, `gap` seconds apart."""
    step = 1 + gap
    return "\n".join(
        f"{n + 1}\n00:00:{n * step:02},000 --> 00:00:{n * step + 1:02},000\n{text}\n"
        for n, text in enumerate(texts)
    ).encode()


def cues(content: bytes) -> list[str]:
    """The text of each cue."""
    blocks = content.decode().strip("\n").split("\n\n")
    return [block.split("\n", 2)[2] if block.count("\n") > 1 else "" for block in blocks]


@pytest.mark.parametrize(
    ("texts", "gap", "expected"),
    [
        (["The old man", "went home."], 0, ["The old man went home."]),
        (["He came.", "He went."], 0, ["He came.", "He went."]),
        (["He came", "and went."], 3, ["He came", "and went."]),
        (["- Who?", "- Me."], 0, ["- Who?", "- Me."]),
        ([*"abcdefgh"], 0, ["a b c d e f", "g h"]),
        (["PARIS, 1943", "and then"], 0, ["PARIS, 1943", "and then"]),
        (["（敲门）", "我在家。"], 0, ["（敲门）", "我在家。"]),
        (["我在", "【音乐】", "家。"], 0, ["我在", "【音乐】", "家。"]),
        (["so we", "so we", "so we\nwent on"], 0, ["so we", "so we", "so we went on"]),
        (["<i>One", "two.</i>", "Three"], 0, ["<0/>One two.<1/>", "Three"]),
        (["42", "a"], 0, ["a"]),
        (["<i>我和</i>", "朋友\n去了", "ABC。"], 0, ["我和朋友去了 ABC。"]),
        (["你昨天去哪了", "我在家啊", "真的吗"], 0, ["你昨天去哪了", "我在家啊", "真的吗"]),
        (["What the--", "Wait, I--", "-- see it"], 0, ["What the--", "Wait, I--", "-- see it"]),
        (["I saw --", "the sea"], 0, ["I saw -- the sea"]),
        (["♪ la la", "la ♪"], 0, ["♪ la la", "la ♪"]),
        (["TOM: Is it", "red?"], 0, ["Is it red?"]),
        (["Is it", ">> TOM: No"], 0, ["Is it", "No"]),
        (["Is it\n- No", "yes"], 0, ["Is it<0|>- No", "yes"]),
    ],
)
def test_cues_are_joined_into_sentences(texts: list[str], gap: int, expected: list[str]) -> None:
    assert texts_of("a.srt", srt(*texts, gap=gap)) == expected


@pytest.mark.parametrize(
    ("begin", "end"), [("<i>", "</i>"), ('<font color="#f00">', "</font>"), ("{\\i1}", "{\\i0}")]
)
def test_a_sentence_with_a_capital_is_in_one_style(begin: str, end: str) -> None:
    """A song or a sign without a full stop is no part of what is said after it."""
    sung, other = (f"{begin}{text}{end}" for text in ("I love you", "every day"))
    assert len(texts_of("a.srt", srt(sung, other, "Who is it?", "{\\an8}Station", sung))) == 4
    assert len(texts_of("a.srt", srt(sung, "Every day."))) == 2
    for joined in ([sung, other], [sung, "and you"], [f"He said {sung}", "Tom"], ["Oh, Tom", "I"]):
        assert len(texts_of("a.srt", srt(*joined))) == 1


@pytest.mark.parametrize(
    ("texts", "translation", "target", "expected"),
    [
        (["aaaa aaaa", "bbbb"], "one two, three", "de", ["one two,", "three"]),
        (["aaaa", "bbbb"], "one", "de", ["one", ""]),
        (["aaaa", "bbbb"], "这是一本很好的书", "zh", ["这是一本", "很好的书"]),
        (["aaaa", "bbbb"], "这是一本书，很好的", "zh", ["这是一本书，", "很好的"]),
        (
            ["a"],
            "this is one long line that has more than forty two letters",
            "de",
            ["this is one long line that has\nmore than forty two letters"],
        ),
        (["a"], "字" * 30, "zh", ["字" * 15 + "\n" + "字" * 15]),
        (["a"], "x" * 60, "de", ["x" * 60]),
        (
            ["<i>a</i> b", "c c c"],
            "<0>one two</0> x",
            "de",
            ["<i>one</i>", "<i>two</i> x"],
        ),
        (["a <b></b>b"], "x <0></0>y", "de", ["x <b></b>y"]),
        (["<b>a</b>", "c"], "one two", "de", ["<b>one</b>", "two"]),
        (["{\\an8}a & <c"], "x & <y", "de", ["{\\an8}x & <y"]),
        (["- a\n- b"], "- x<0|>- y", "de", ["- x\n- y"]),
        (["TOM: a\nDR. X (V.O.): b"], "x<0|>y", "de", ["TOM: x\nDR. X (V.O.): y"]),
        (["TOM: a"], "x " * 19 + "y", "de", ["TOM: " + "x " * 8 + "x\n" + "x " * 10 + "y"]),
    ],
)
def test_translations_are_laid_back(
    texts: list[str], translation: str, target: str, expected: list[str]
) -> None:
    parsed = parse_file(srt(*texts), "a.srt", FileOptions("en", target))
    assert len(parsed.segments) == 1
    done = parsed.write([coded(translation)])
    assert cues(done) == expected
    assert [line for line in done.splitlines() if b"-->" in line] == [
        line for line in srt(*texts).splitlines() if b"-->" in line
    ]


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=6),
    st.lists(st.integers(1, 12), min_size=6, max_size=12),
    st.sampled_from(["de", "zh"]),
)
def test_while_there_are_words_each_cue_gets_one(
    cues: list[int], words: list[int], target: str
) -> None:
    layout = CueLayout(["a" * length for length in cues], target, is_escaped=False)
    translation = (" " if target == "de" else "").join("字" * length for length in words)
    written = layout.write(CodedText.of([translation]))
    assert all(written)
    assert "".join("".join(written).split()) == translation.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<i>-One</i>\n<i>-Two</i>", "<0>-One</0><1|><2>-Two</2>"),
        ("-One goes\non.\n-Two", "-One goes on.<0|>-Two"),
        ("[Tom] One\n[Ann] Two", "[Tom] One<0|>[Ann] Two"),
        (">> One\n>> Two", "One<0|>Two"),
        ("♪ One ♪\n♪ Two ♪", "♪ One ♪<0|>♪ Two ♪"),
        ("# One #\n# Two #", "# One #<0|># Two #"),
        ("[music]\nOne", "[music]<0|>One"),
        ("Wait, I--\nI see", "Wait, I--<0|>I see"),
        ("<i>One</i>\nTwo", "<0>One</0><1|>Two"),
        ("Tom: One\nAnn Lee: Two", "Tom: One<0|>Ann Lee: Two"),
        ("One.\n(sighs) Two", "One.<0|>(sighs) Two"),
        ("汤姆：一\n安：二", "汤姆：一<0|>安：二"),
        ("He saw\nTom: one man\n(or two)\n-5 away", "He saw Tom: one man (or two) -5 away"),
        ("ONE TWO: THREE\nFOUR", "ONE TWO: THREE FOUR"),
        ("<v Tom>One</v>\n<v Ann>Two</v>", "One<0|>Two"),
        ("<v Tom>One <v.x Ann>Two", "One<0|>Two"),
    ],
)
def test_each_speaker_has_a_line(text: str, expected: str) -> None:
    content = b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + text.encode()
    assert texts_of("a.vtt", content) == [expected]
    done = translated("a.vtt", content).decode().split("000\n")[1]
    if "|" in expected:
        assert done.lower() == text.lower().replace("goes\non", "goes on")


def test_every_line_is_bounded_and_no_word_is_lost() -> None:
    words = " ".join(f"word{number}" for number in range(120))
    parsed = parse_file(srt("a b", "c d", "e f"), "a.srt", OPTIONS)
    done = cues(parsed.write([coded(words)]))
    assert " ".join(done).split() == words.split()
    assert max(len(line) for text in done for line in text.splitlines()) <= 42


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_are_those_of_the_file(line_end: str) -> None:
    content = srt("one\ntwo three").replace(b"\n", line_end.encode())
    parsed = parse_file(content, "a.srt", OPTIONS)
    long = "a line that is a good deal longer than one that can be shown"
    assert b"\n" not in parsed.write([coded(long)]).replace(line_end.encode(), b"")


def test_settings_and_notes_of_webvtt_stay() -> None:
    content = (
        "WEBVTT - x\n\nNOTE\nkeep --> me\n\nid\n01:00.000 --> 01:01.000 line:0 align:end\n"
        "<v Ann>&lt;Hi&gt; <00:00.500>there</v>\n"
    )
    parsed = parse_file(content.encode(), "a.vtt", OPTIONS)
    (segment,) = parsed.segments
    assert shown(segment.text) == "<Hi> <2/>there"
    done = parsed.write([coded("<Hallo> & > <2/>da")]).decode()
    assert done == content.replace("&lt;Hi&gt;", "&lt;Hallo> &amp; >").replace("there", "da")


def test_a_line_of_spaces_does_not_end_a_cue_of_webvtt() -> None:
    content = "WEBVTT\n\n00:01.000 --> 00:02.000\n \nOpen<00:01.500> the door.\n \n\nNOTE keep\n"
    assert texts_of("a.vtt", content.encode()) == ["Open<0/> the door."]
    assert translated("a.vtt", content.encode()).decode() == content.replace(
        "Open<00:01.500> the door", "OPEN<00:01.500> THE DOOR"
    )


def test_times_with_and_without_hours_stay_in_order() -> None:
    content = "WEBVTT\n\n00:17.000 --> 00:25.000\nGo<00:17.500> to<00:00:21.000> it\n"
    assert translated("a.vtt", content.encode()).decode() == content.replace(
        "Go<00:17.500> to<00:00:21.000> it", "GO<00:17.500> TO<00:00:21.000> IT"
    )


def test_times_within_a_cue_stay_in_order_and_a_word_above_another_stays() -> None:
    cue = "<00:01.100>Go <00:01.200>to <ruby>北京<rt>Běijīng</rt></ruby>"
    content = f"WEBVTT\n\n00:01.000 --> 00:02.000\n{cue}".encode()
    parsed = parse_file(content, "a.vtt", OPTIONS)
    assert [shown(segment.text) for segment in parsed.segments] == ["<0/>Go <1/>to <2>北京<3/></2>"]
    done = parsed.write([coded("<1/>Nach <2>Peking<3/></2> <0/>los")]).decode()
    assert done.endswith("<00:01.100>Nach <ruby>Peking<rt>Běijīng</rt></ruby> <00:01.200>los")


@pytest.mark.parametrize("between", ["", "\n", " \n\n"])
@pytest.mark.parametrize("number", ["", "7\n", " 7 \n"])
@pytest.mark.parametrize("name", ["a.srt", "a.vtt"])
def test_the_number_and_times_of_a_cue_end_the_one_before(
    between: str, number: str, name: str
) -> None:
    times = [f"00:0{n}.000 --> 00:0{n + 1}.000\n" for n in range(3)]
    head = "WEBVTT\n\n" if name == "a.vtt" else ""
    cues = (f"{number}{time}He came\nin {'x' * n}.\n" for n, time in enumerate(times, 1))
    content = head + between.join(cues)
    assert texts_of(name, content.encode()) == [
        "He came in x.",
        "He came in xx.",
        "He came in xxx.",
    ]
    expected = content.replace("He came\nin", "HE CAME IN")
    assert translated(name, content.encode()).decode() == expected.replace("x", "X")


def test_only_in_webvtt_a_blank_line_ends_a_cue() -> None:
    content = "00:01.000 --> 00:02.000\nOpen the\n\n  door.\n\n00:03.000 --> 00:0x\nBad\n"
    assert texts_of("a.srt", content.encode()) == ["Open the door."]
    assert texts_of("a.vtt", f"WEBVTT\n\n{content}".encode()) == ["Open the"]


def dialogue(*texts: str, style: str = "Default") -> bytes:
    lines = [
        f"Dialogue: 0,0:00:0{n}.00,0:00:0{n + 1}.00,{style},,0,0,0,,{text}\n"
        for n, text in enumerate(texts)
    ]
    return "".join(["[Events]\n", *lines]).encode()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["He came,\\Nand {\\i1}went{\\i0}."], ["He came, and <0>went</0>."]),
        (["{\\i1}The old man", "went home.{\\i0}"], ["<0/>The old man went home.<1/>"]),
        (["{\\pos(1,2)}Bank", "and so on."], ["Bank", "and so on."]),
        (["One\\htwo\\nthree {a note}four"], ["One\u00a0two three <0/>four"]),
        (["{\\an8}- One\\N- Two"], ["- One<0|>- Two"]),
        (["{\\pos(1,2)\\p1}m 0 0 l 1 1{\\p0}", "{note}", "42\\N"], []),
        (["{\\p1}m 0{\\c&H0&}l 1{\\p0}Yes"], ["Yes"]),
        (["It is <i 1> {\\u1}so", "a {b"], ["It is <0/> <1/>so a {b"]),
    ],
)
def test_the_text_of_dialogue_is_translated(texts: list[str], expected: list[str]) -> None:
    assert texts_of("a.ass", dialogue(*texts)) == expected


def test_only_words_of_dialogue_change() -> None:
    long = "{\\fade(1,2)}" + " ".join(["word"] * 20)
    content = dialogue("{\\i1}ab{\\i0}\\hc, {\\blur2}ef.", long)
    expected = content.replace(b"ab", b"AB").replace(b"c, ", b"C, ").replace(b"ef.", b"EF.")
    assert translated("a.ass", content) == expected.replace(b"word", b"WORD")
    content = b"[events]\r\nFormat: Start,End, Text\r\nDialogue: 0:00:01.00,0:00:02.00,One, two\r\n"
    assert translated("a.ssa", content) == content.replace(b"One, two", b"ONE, TWO")
    for text in (
        "{\\i1}It is.{\\i0}\\NIt was.",
        "It is\\Nso it\\Nis. He\\Ngoes",
        "A.\\N\\N\\NB\\N",
    ):
        assert translated("a.ass", dialogue(text)) == dialogue(text.upper().replace("\\I", "\\i"))
    with pytest.raises(InvalidDocument, match="Events"):
        parse_file(b"Dialogue: 0", "a.ass", OPTIONS)


PIECES = [
    *"ab <>/&;-{}\\\n♪",
    *("<i>", "</i>", "<b>", "</b>", "{\\an8}", "\n\n", "<v Bob>", "</v>", "- a\n", "&amp;"),
    *("A: a\n", ">> "),
    "1\n00:00:01,000 --> 00:00:02,000\n",
]


@pytest.mark.parametrize("name", ["a.srt", "a.vtt"])
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_tag_is_ever_lost(name: str, text: str) -> None:
    head = "WEBVTT\n\n" if name == "a.vtt" else ""
    content = f"{head}00:01.000 --> 00:02.000\n{text}".encode()
    parsed = parse_file(content, name, OPTIONS)
    assert parsed.write([segment.text for segment in parsed.segments]) == content
    done = translated(name, content)
    assert all(done.count(mark) >= content.count(mark) for mark in (b"/", b"{", b"}", b"-->"))
