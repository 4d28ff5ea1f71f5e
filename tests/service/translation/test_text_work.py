"""Short work on texts runs at once and long work in a thread, which ends soon after its caller."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any, cast

import pytest

from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.decoding.sentence_limits import SentenceLimits
from service.engine.sentence_engine import SentenceEngine, Update
from service.engine.sentence_task import SentenceOutcome
from service.engine.ticket import Ticket
from service.errors import DeadlineExceeded
from service.translation.job import ModelJob, TranslationJob
from service.translation.preparation import Preparation
from service.translation.study.inspection import InspectedModel
from service.translation.text_work import Unwanted, raise_if_unwanted, text_work
from service.translation.translator import TranslationModel, Translator
from tests.service.fakes import FAKE_CONFIG, FakeTokenizer, fake_attention, fake_search
from tests.service.translation.sentence.test_stages import tokenizer_of
from tests.service.translation.test_assembly import outcome

LONG = 5_000


class Work:
    """Work without an end, but for `raise_if_unwanted`."""

    def __init__(self, part: Callable[[], None] = raise_if_unwanted) -> None:
        self._part = part
        self.has_begun, self.was_ended = threading.Event(), threading.Event()

    def __call__(self) -> None:
        try:
            while True:
                self._part()
                self.has_begun.set()
        except Unwanted:
            self.was_ended.set()
            raise


async def test_short_work_runs_at_once_and_long_work_in_another_thread() -> None:
    own = threading.get_ident()
    assert await text_work(20, threading.get_ident) == own
    assert await text_work(LONG, threading.get_ident) != own


async def cancelled(work: Work) -> None:
    """Begin the work and cancel it."""
    task = asyncio.create_task(text_work(LONG, work))
    assert await asyncio.to_thread(work.has_begun.wait, 60)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_work_ends_with_its_caller() -> None:
    work = Work()
    await cancelled(work)
    assert await asyncio.to_thread(work.was_ended.wait, 60)


async def test_work_ends_at_its_deadline() -> None:
    """Where a thread begins late, the first deadlines pass before."""
    for milliseconds in (10, 100, 1_000, 10_000):
        work = Work()
        message = f"not done within the deadline of {milliseconds} ms"
        with pytest.raises(DeadlineExceeded, match=message):
            await text_work(LONG, work, Ticket.issued("", milliseconds / 1000))
        if work.has_begun.is_set():
            break
    assert await asyncio.to_thread(work.was_ended.wait, 60)


async def test_work_does_not_begin_after_its_deadline() -> None:
    has_begun = threading.Event()
    with pytest.raises(DeadlineExceeded):
        await text_work(LONG, has_begun.set, Ticket.issued("", -1))
    assert not has_begun.is_set()


@pytest.mark.parametrize("texts", [["One. " * 2000], ["One."] * 2000])
async def test_texts_are_prepared_no_further_when_the_client_has_left(texts: list[str]) -> None:
    job = TranslationJob(texts, "en", "de")
    work = ModelJob(job, texts, range(len(texts)), "en", "de", DecodingOptions())
    prepare = Preparation(FakeTokenizer(), SentenceLimits(40, 40, 4), work).prepare
    endless = Work(lambda: prepare() and None)
    await cancelled(endless)
    assert await asyncio.to_thread(endless.was_ended.wait, 60)


class ScriptedEngine:
    """Gives each sentence as many hypotheses as it asks for."""

    max_target_tokens, max_beam_size = 60, 16

    async def translate(
        self, sentences: Sequence[SourceSentence], _: Ticket
    ) -> list[SentenceOutcome]:
        return [outcome(*["Hunde und Katzen."] * one.options.n_best) for one in sentences]

    @contextlib.asynccontextmanager
    async def stream(
        self, sentences: Sequence[SourceSentence], ticket: Ticket
    ) -> AsyncGenerator[AsyncIterator[Update]]:
        outcomes = await self.translate(sentences, ticket)

        async def updates() -> AsyncIterator[Update]:
            for index, one in enumerate(outcomes):
                yield Update(index, outcome=one)

        yield updates()


def noting(method: Callable[..., Any], threads: list[int]) -> Callable[..., Any]:
    """The method, which notes the thread that calls it."""

    def noted(*arguments: Any) -> Any:
        threads.append(threading.get_ident())
        return method(*arguments)

    return noted


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("n_best", [1, 16])
async def test_many_hypotheses_of_a_short_text_are_read_in_another_thread(
    is_streamed: bool, n_best: int
) -> None:
    """Those of a second translation are eight or more."""
    translator = Translator(
        TranslationModel(
            *("model", [("en", "de")], {}, DecodingOptions(), tokenizer_of(16), 40),
            InspectedModel(FAKE_CONFIG, fake_attention, fake_search),
            {},
        ),
        cast(SentenceEngine, ScriptedEngine()),
    )
    text = "I have 7 dogs and 8 cats in the garden behind the house, and nobody likes them."
    options = DecodingOptions(beam_size=n_best, n_best=n_best)
    work = ModelJob(TranslationJob([text], "en", "de"), [text], [0], "en", "de", options)
    assembly = translator.prepare(work)
    first, again = list[int](), list[int]()
    for name, threads in (("read_one", first), ("read_again", again)):
        setattr(assembly, name, noting(getattr(assembly, name), threads))
    if is_streamed:
        async with translator.stream(assembly) as pieces:
            assert [piece async for piece in pieces]
    else:
        assert await translator.translate(assembly)
    own = threading.get_ident()
    assert [one == own for one in (*first, *again)] == [n_best == 1, False]
