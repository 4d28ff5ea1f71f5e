"""Marks around words of a plain text are tags; others stay in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.markup.inline import text_flow
from tests.service.translation.code_tokens import MARKS, NAMED_MARKS


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


@given(st.one_of(NAMED_MARKS, st.just(("**", "**"))))
def test_without_spaces_between_words_marks_that_say_their_end_are_tags(
    marks: tuple[str, str],
) -> None:
    text, tags, _ = parts(f"请阅读{marks[0]}条款{marks[1]}。", is_spaced=False)
    assert (text, tags) == ("请阅读条款。", [(3, marks[0]), (5, marks[1])])


@pytest.mark.parametrize(
    ("text", "is_spaced"),
    [
        *(("{name}s of {n}px, {c}d", True), ("Send {a} to {b}.", True), ("<b>no end", True)),
        *(("2*3*4 = 5 * 6, *args, **kw", True), ("Price* and tax*", True), ("[1]Note[2]", True)),
        *(("the 5_000 and __init__ of a_b_c", True), ("from %s to %s%", True)),
        *(("{{a}} our {{b}}", True), ("你有{a}条消息和{b}封邮件。", False)),
        *(("第1~3页和5~7页", False), ("好的~谢谢~", False)),
    ],
)
def test_other_marks_are_no_tags(text: str, is_spaced: bool) -> None:
    assert parts(text, is_spaced=is_spaced)[1] == []


def test_pairs_nest() -> None:
    text, tags, _ = parts("say {{a}}*hi* there{{/a}} {b}you{/b}")
    assert text == "say hi there you"
    assert [written for _, written in tags] == ["{{a}}", "*", "*", "{{/a}}", "{b}", "{/b}"]


@given(st.lists(st.sampled_from(["{a}", "{/a}", "**", "_", "%s", "<b>", "</b>", "a", " "])))
def test_no_character_is_lost(pieces: list[str]) -> None:
    flow = text_flow("".join(pieces))
    written, position = "", 0
    for tag in flow.tags:
        written += flow.spell(position, tag.offset) + str(tag.written[0])
        position = tag.offset
    assert written + flow.spell(position, len(flow.text)) == "".join(pieces)
