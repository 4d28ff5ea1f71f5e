"""A job whose texts are in several languages goes to several models, and stays one job."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from service.app import create_app
from service.engine.ticket import Ticket
from service.errors import DeadlineExceeded, TranslationFailed
from service.settings import Settings
from service.translation.dispatcher import Dispatcher
from service.translation.job import AUTO, TranslationJob
from service.translation.passage import Passage
from service.translation.results import TextPiece, TranslationResult
from tests.service.fakes import FakeRunner, emptied, fake_model

CHINESE, GERMAN = "我每天早上喝一杯咖啡。", "Ich trinke jeden Morgen einen Kaffee."
TEXTS = [GERMAN, CHINESE, "Der Hund ist müde.", "老人去了海边。"]


@contextlib.asynccontextmanager
async def running(*runners: FakeRunner) -> AsyncGenerator[Dispatcher]:
    """Of a Chinese and a German model, which are free in the end."""
    pairs = ("zh", "en"), ("de", "en")
    models = [
        fake_model(runner, pair[0], [pair]) for runner, pair in zip(runners, pairs, strict=True)
    ]
    app = create_app(Settings(), models)
    async with app.router.lifespan_context(app):
        state = app.state.server
        yield state.dispatcher
        assert state.dispatcher.num_in_progress == 0
        for model in state.models.pool.models.values():
            assert model.resident.num_leases == 0
            await emptied(model.engine)
        assert all(runner.num_free_slots == runner.max_slots for runner in runners)


async def streamed(dispatcher: Dispatcher, job: TranslationJob) -> list[TranslationResult]:
    """The results, if the pieces of each text join to it."""
    texts, results = [""] * len(job.texts), list[TranslationResult]()
    async with dispatcher.stream(job) as pieces:
        async for piece in pieces:
            if isinstance(piece, TextPiece):
                texts[piece.text_index] += piece.text
            else:
                results = piece
    assert texts == [result.text for result in results]
    return results


WAYS: Any = pytest.mark.parametrize("translate", [Dispatcher.translate, streamed])


@WAYS
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[::2], TEXTS[1:2], []])
async def test_each_text_has_its_own_model_language_and_place(
    translate: Any, texts: list[str]
) -> None:
    async with running(FakeRunner(), FakeRunner()) as dispatcher:
        results = await translate(dispatcher, TranslationJob(texts, AUTO, "en"))
    languages = ["zh" if "。" in text else "de" for text in texts]
    assert [one.text for one in results] == [text.upper() for text in texts]
    assert [one.model for one in results] == languages
    assert [one.detection.language for one in results] == languages


@WAYS
@pytest.mark.parametrize("broken", [[0], [1], [0, 1]])
async def test_the_failure_of_one_model_ends_the_work_of_the_others(
    translate: Any, broken: list[int]
) -> None:
    """With that model's error."""
    runners = [FakeRunner(), FakeRunner()]
    for number in broken:
        runners[number].poison = ord(TEXTS[1 - number][0])
    async with running(*runners) as dispatcher:
        with pytest.raises(TranslationFailed):
            await translate(dispatcher, TranslationJob(TEXTS, AUTO, "en"))


@WAYS
@pytest.mark.parametrize("source", ["zh", AUTO])
async def test_no_long_text_is_prepared_after_the_deadline(
    translate: Any, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = list[Passage]()
    monkeypatch.setattr(Passage, "prepare", prepared.append)
    job = TranslationJob([CHINESE * 100], source, "en", ticket=Ticket.issued("", -1.0))
    async with running(FakeRunner(), FakeRunner()) as dispatcher:
        with pytest.raises(DeadlineExceeded):
            await translate(dispatcher, job)
    assert not prepared
