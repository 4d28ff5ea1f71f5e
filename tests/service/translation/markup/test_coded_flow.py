"""Texts with codes: flows spell them, and a translation that changes nothing gives them back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TypeGuard

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.models.local_models import LocalModels
from service.observability.metrics import Metrics
from service.settings import Settings
from service.translation.job import TranslationJob
from service.translation.markup.coded_flow import coded_flows
from service.translation.markup.coded_text import Code, CodedText, TextPart
from service.translation.markup.flow import MARK, Flow
from tests.service.documents.samples import coded
from tests.service.fakes import FakeRunner, fake_model
from tests.service.translation.markup.test_page import spelled

CODES = st.sampled_from(
    [
        Code("single", 0),
        Code("stop", 1),
        Code("word", 2, "`X = 1`"),
        Code("word", 3, "☺"),
        Code("char", 4, "*"),
        Code("char", 5, "&"),
        Code("char", 5, "&"),
    ]
)
STRINGS = st.lists(
    st.sampled_from([*"A 12.,", "  ", "\n", " \t", "日本", "{name}", "%s", MARK, "\ue000", "X"]),
    min_size=1,
    max_size=5,
).map("".join)
WORDS = st.lists(st.sampled_from(["A", "WORD", "日本。", "X1", "{name}", "END."]), min_size=1)


def paired(inner: Sequence[TextPart], number: int, *, is_script: bool) -> list[TextPart]:
    return [Code("open", number, is_script=is_script), *inner, Code("close", number)]


def texts(strings: st.SearchStrategy[str]) -> st.SearchStrategy[CodedText]:
    """Any texts of such strings and codes."""
    pairs = st.integers(6, 9)
    parts = st.recursive(
        st.lists(strings | CODES, max_size=5),
        lambda inner: st.lists(
            st.builds(paired, inner, pairs, is_script=st.booleans()) | inner, max_size=4
        ).map(lambda lists: [part for one in lists for part in one]),
        max_leaves=8,
    )
    return parts.map(CodedText.of)


@settings(deadline=None, max_examples=400)
@given(texts(STRINGS))
def test_the_flows_spell_the_text(text: CodedText) -> None:
    assert CodedText.of(spelled(coded_flows(text))) == text


@pytest.mark.parametrize(
    ("text", "flows"),
    [
        ("one <0>two</0>  three", ["one two three"]),
        ("one <0> two </0> three", ["one two three"]),
        ("one<0|>two <1>three<2|>four</1>", ["one", "two three", "four"]),
        ("a word<^0>1</0> and<^1>st</1>", ["a word andst"]),
        ("E = mc<^0>2</0>", [f"E = {MARK}"]),
        ("two < three & {c}", [f"two < three & {MARK}"]),
        ("Age:<0/>One line<1/>Two.<2/> <3/>An<4/>d", ["Age:", "One line", "Two. And"]),
        ("<0/> Page <1/> of <2>a<3/></2> <4/>", [f"Page {MARK} of a {MARK}"]),
    ],
)
def test_flows_are_what_a_reader_sees(text: str, flows: list[str]) -> None:
    found = [flow.text.strip() for flow in coded_flows(coded(text)) if isinstance(flow, Flow)]
    assert found == flows


@pytest.mark.parametrize(
    ("message", "branches"),
    [
        ("{n, plural, one {a <0/> b} other {<1>c</1> #<2|>d}}", [f"a {MARK} b", f"c {MARK}", "d"]),
        ("{n, select, other { {n, plural, one {b<0/>}}}} ", ["b"]),
        ("{n, plural, one {<0>a} other {b</0>}}", []),
        ("{n, plural, one {a <0/> b} other {c}} <1>d</1>", [f"a {MARK} b", "c"]),
        ("a<0|>{n, plural, other {<1>b</1>}} of {c, select, x {d} other {e}}", ["b", "d", "e"]),
    ],
)
def test_the_branches_of_a_message_with_codes_are_flows(message: str, branches: list[str]) -> None:
    found = coded_flows(coded(message))
    assert CodedText.of(spelled(found)) == coded(message)
    assert branches_of(found) == branches


def branches_of(flows: Iterable[TextPart | Flow]) -> list[str]:
    found = [flow for flow in flows if isinstance(flow, Flow)]
    written = [*(tag.written for flow in found for tag in flow.tags)]
    written += [kept.parts for flow in found for kept in flow.kept]
    inner = [part for parts in written for part in parts if isinstance(part, Flow)]
    return [text for part in inner for text in ([part.text] if part.text else branches_of([part]))]


async def translated(texts: Sequence[CodedText]) -> list[CodedText | None]:
    """Their translations by a model that puts small letters in capitals."""
    models = LocalModels(Settings(), [fake_model(FakeRunner())], Metrics())
    (engine,) = models.pool.engines.values()
    engine.start()
    try:
        job = TranslationJob(texts, "en", "de")
        return [result.coded for result in await models.dispatcher.translate(job)]
    finally:
        engine.stop()


def runs(words: st.SearchStrategy[list[str]]) -> st.SearchStrategy[CodedText]:
    """Runs of words with codes of their own: pairs, and codes between."""
    plain = words.map(lambda one: [" ".join(one)])
    pairs = plain.map(lambda one: paired(one, 0, is_script=False))
    codes = CODES.map(lambda code: [code])
    return st.lists(plain | pairs | codes, min_size=1, max_size=6).map(numbered)


def numbered(lists: Sequence[Sequence[TextPart]]) -> CodedText:
    """One text of the runs, with numbers of their own and spaces between."""
    parts: list[TextPart] = []
    for number, run in enumerate(lists, 10):
        parts += [one._replace(number=number) if has_own(one) else one for one in run]
        parts.append(" ")
    return CodedText.of(parts[:-1])


def has_own(part: TextPart) -> TypeGuard[Code]:
    """Whether a part has a number of its own. A character has that of its spelling."""
    return isinstance(part, Code) and part.kind != "char"


@settings(deadline=None, max_examples=40)
@given(st.lists(runs(WORDS), min_size=1, max_size=5))
def test_a_translation_that_changes_nothing_gives_the_runs_back(texts: list[CodedText]) -> None:
    assert asyncio.run(translated(texts)) == texts


@pytest.mark.parametrize("is_script", [False, True])
@pytest.mark.parametrize("number", ["1", "[12]"])
def test_a_number_that_touches_a_word_is_a_marker(number: str, *, is_script: bool) -> None:
    text = CodedText.of(["the word", *paired([number], 1, is_script=is_script), " is"])
    (flow,) = (flow for flow in coded_flows(text) if isinstance(flow, Flow))
    assert flow.text == "the word is"
    assert [tag.is_note for tag in flow.tags] == [True]
