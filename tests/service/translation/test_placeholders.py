"""Placeholders, addresses and strings to keep are found in ordinary and hostile texts."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.translation.placeholders import KeptStrings, Span, find_kept
from tests.service.translation.code_tokens import CODE, FRAMES

DATA = Path(__file__).parents[2] / "data"
EMOJI = ("😀", "🍕", "👩")
CASES = [
    line.split("\t")
    for line in (DATA / "placeholders.tsv").read_text(encoding="utf-8").splitlines()
]


def kept(text: str, *keep: str) -> list[str]:
    return [text[start:end] for start, end in find_kept(text, KeptStrings(keep))]


def test_every_placeholder_of_the_set_is_found_and_nothing_else() -> None:
    """Emoji are left out where texts are cut, and tags in pairs are placed by alignment."""
    for _, _, text, strings in CASES:
        if not any(emoji in strings for emoji in EMOJI):
            assert "".join(kept(text)) == "".join(strings.split(" ¦ ")), text


@settings(deadline=None, max_examples=500)
@given(CODE, st.sampled_from([frame for frames in FRAMES.values() for frame in frames]))
def test_what_looks_like_code_is_found_whole_and_nothing_else(code: str, frame: str) -> None:
    assert kept(frame.replace("{}", code)) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "I am 100% sure that 5% do.",
        "and/or, km/h, 1/2, e.g. this, i.e. that.",
        "Mr. Smith vs. U.S. 3:2, p. 12",
        "a :D b, yes:no, C# or #1",
        "A well-known, state-of-the-art and/or he/she 24/7 person with TCP/IP.",
        "E-Mail-Adresse, Kaffee- und Teetasse, Kanne und -tasse, z.B. u.a., 5-jährig, 1990er",
        "10-20 or 10%-20%, $5-$10, US$20, -5, +3, 7:30-8:15, 3,5:1, 1.234,50, B-52, 2:1!",
        "it's 'quoted' \"text\" [sic] (a) {see below} 5 < 6 > 4",
        "- item * item = x ~ y ^ z | w",
        "The end.The next one",
    ],
)
def test_ordinary_text_has_nothing_to_keep(text: str) -> None:
    assert kept(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://a.b/c. Or (http://d.e/f_(g)), ok?", ["https://a.b/c", "http://d.e/f_(g)"]),
        ("[text](https://a.b/c_d) **a_b**", ["https://a.b/c_d", "**a_b**"]),
        ("ls -l or -v, not -x-ray. -I know", ["-l", "-v"]),
        ("$5 each, $1m or $1.50; 5 per cent", []),
        ("访问https://a.cn/b，谢谢", ["https://a.cn/b"]),
        ("%d%%", ["%d%%"]),
        ("{n, plural, one {a", []),
        ("on 2024-05-17 10:00 or 12", ["2024-05-17 10:00"]),
        ("see xsltEvalTemplateString now", ["xsltEvalTemplateString"]),
        ("a\ufffdb \ufffc", ["\ufffd", "\ufffc"]),
    ],
)
def test_addresses_end_before_the_marks_of_the_sentence(text: str, expected: list[str]) -> None:
    assert kept(text) == expected


@pytest.mark.parametrize(
    ("text", "keep", "expected"),
    [
        ("Blue Sky is a Blue Skyline", ["Blue Sky"], ["Blue Sky"]),
        ("New York City", ["New York", "York City"], ["New York City"]),
        ("我喜欢蓝天公司", ["蓝天"], ["蓝天"]),
        ("C++ and C", ["C++"], ["C++"]),
    ],
)
def test_strings_of_the_request_are_kept_as_words(
    text: str, keep: list[str], expected: list[str]
) -> None:
    assert kept(text, *keep) == expected


@given(
    st.text("ab, 蓝", max_size=20), st.lists(st.text("ab, 蓝", min_size=1, max_size=4), max_size=5)
)
def test_every_place_of_a_string_of_the_request_is_kept(text: str, keep: list[str]) -> None:
    def is_inside_word(place: int) -> bool:
        return 0 < place < len(text) and text[place - 1] in "ab" and text[place] in "ab"

    expected = {
        place
        for string in keep
        for start in range(len(text))
        if text.startswith(string, start)
        and not (is_inside_word(start) or is_inside_word(start + len(string)))
        for place in range(start, start + len(string))
    }
    assert {at for span in find_kept(text, KeptStrings(keep)) for at in range(*span)} == expected


@pytest.mark.parametrize("unit", ["a", "a ", "-", "蓝"])
def test_many_strings_of_the_request_that_overlap_take_little_time(unit: str) -> None:
    """Each by itself, at each place, took 2.7 s."""
    began = time.process_time()
    keep = KeptStrings([unit * length for length in range(1, 101)])
    find_kept(unit * (20_000 // len(unit)), keep)
    assert time.process_time() - began < 0.5


@given(CODE)
def test_a_term_wins_over_the_rule_for_code_but_not_over_the_request(code: str) -> None:
    text = f"Use {code} now."
    terms = [Span(4, 4 + len(code))]
    assert find_kept(text, terms=terms) == []
    assert find_kept(text, KeptStrings([code]), terms=terms) == terms
    assert find_kept(text, terms=[Span(4, 5)]) == find_kept(text)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.sampled_from([*"{}%$:@#/\\`<>&;_[]()⟦⟧.-~ aZ9\n'\"", "://", "www.", "{a,plural,"])
    ).map("".join)
)
def test_spans_are_in_order_and_do_not_touch(text: str) -> None:
    spans = find_kept(text, KeptStrings(["a", "Z9"]))
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(a.end < b.start for a, b in itertools.pairwise(spans))


HOSTILE = [
    *("{", "{{", "}", "{a", "{a,plural,", "{a,plural,}", "%", "%(", "%a", "${", "$a", ":a", ":"),
    *("⟦", "a://", "://", "a@", "@a", "@", "a.", ".", "a.py", "/a", "/", "//", "~", "\\", "C:\\"),
    *("` ", "1.", "1.1", "-", "2024-", "#", "#a", "#1", "_", "a_", "()", "<a", "<a ", "<a=", "&a"),
    *("www.", "http://a)", "http://a(", "A1", "0x", "é@", "aA", " ", "\u4e2d", "x" * 50 + "@"),
    *("`", "[A1", "&#", "y", "yy-", "11-", "aB", "a/", "a:", "1.1.", "25.", "$2", "a_", "aA", "Aa"),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_time_is_linear(unit: str) -> None:
    def seconds(length: int) -> float:
        text = "a " + unit * (length // len(unit)) + "x"
        took = []
        for _ in range(3):
            began = time.process_time()
            find_kept(text, KeptStrings(["keep", unit[:200]]))
            took.append(time.process_time() - began)
        return max(min(took), 1e-3)

    assert seconds(24_000) / seconds(3_000) < 30
