"""Short work on texts runs at once and long work in a thread, which ends soon after its caller."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

import pytest

from model.decoding.options import DecodingOptions
from model.decoding.sentence_limits import SentenceLimits
from service.engine.ticket import Ticket
from service.errors import DeadlineExceeded
from service.translation.job import ModelJob, TranslationJob
from service.translation.preparation import Preparation
from service.translation.text_work import Unwanted, raise_if_unwanted, text_work
from tests.service.fakes import FakeTokenizer

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
