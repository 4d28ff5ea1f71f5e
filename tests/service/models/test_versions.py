"""A version of a model is served as the settings say."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from model.decoding.sentence import SourceSentence
from service.models.local_models import LocalModels
from service.models.versions import ModelShare
from service.observability.metrics import Metrics
from service.settings import Settings
from tests.service.fakes import FakeRunner, eventually, fake_model, sentence

USUAL_OF_A_STORE = 4
LONG = [sentence(text * 40) for text in "abcd"]
SHORT = [sentence("s")]


@pytest.mark.parametrize(
    ("scheduling", "first"), [("short-first", SHORT[0]), ("first-come", LONG[0])]
)
async def test_the_scheduling_of_the_settings_says_who_goes_first(
    scheduling: str, first: SourceSentence
) -> None:
    runner = FakeRunner(max_slots=1)
    settings = Settings.model_validate({"scheduling": scheduling, "cache_bytes": 0})
    models = LocalModels(settings, [fake_model(runner)], Metrics())
    async with models.running():
        engine = models.pool.engines["fake"]
        runner.gate.clear()
        running = [asyncio.create_task(engine.translate([sentence("r")]))]
        await eventually(runner.is_stepping.is_set)
        running += [asyncio.create_task(engine.translate(text)) for text in (LONG, SHORT)]
        await eventually(lambda: engine.gauges()["waiting"] == len(LONG) + len(SHORT))
        runner.gate.set()
        await asyncio.gather(*running)
    assert runner.sentences[1] == first


@pytest.mark.parametrize("num_pinned", [0, 1, 3])
@pytest.mark.parametrize("has_store", [False, True])
def test_the_models_that_are_usually_in_memory_share_the_cache(
    tmp_path: Path, num_pinned: int, has_store: bool
) -> None:
    settings = Settings(models_dir=tmp_path if has_store else None, cache_bytes=10_000)
    own = ModelShare(settings, 0, num_pinned).cache_bytes
    usual = max(1, num_pinned + has_store * USUAL_OF_A_STORE)
    assert 0 <= settings.cache_bytes - usual * own < usual
