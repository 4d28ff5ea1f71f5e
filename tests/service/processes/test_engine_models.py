"""What an engine process loads and lets go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from model.checkpoint import CheckpointError
from service.models.loading import load_models
from service.models.store import ModelStore
from service.observability.metrics import Metrics
from service.processes.engine_models import EngineModels
from service.processes.held_models import HeldModels
from service.processes.messages import LoadAnswer, ModelFiles
from service.settings import Settings
from tests.service.fakes import eventually
from tests.service.models.tiny_stores import PAIRS, SMALL, WEIGHTS, Workshop


def files_of(store: Path) -> ModelFiles:
    stored = ModelStore(store).contents().models["tiny"]
    return ModelFiles(stored.name, str(stored.path), stored.version)


def test_only_the_version_that_the_front_end_read_is_loaded(
    tmp_path: Path, tiny_tokenizer_file: Path
) -> None:
    """Its tokenizer belongs to no other, even if that is sound."""
    workshop = Workshop(tmp_path, tiny_tokenizer_file)
    place = workshop.make("tiny", PAIRS, 0)
    store, newer = place.parent, workshop.make("tiny", PAIRS, 1)
    metrics = Metrics()
    models = EngineModels(Settings.model_validate({"models_dir": store, **SMALL}), [], metrics)

    async def run() -> None:
        models.start()
        first = files_of(store)
        async with models.shared.lease([first]):
            assert set(models.engines) == {"tiny"}
        await eventually(lambda: not models.engines)
        for file in newer.iterdir():
            file.replace(place / file.name)
        with pytest.raises(CheckpointError, match="have changed"):
            async with models.shared.lease([first]):
                pass
        async with models.shared.lease([files_of(store)]):
            assert b"dragoman_ready{model" in metrics.render()
        await eventually(lambda: not models.engines)
        assert b"dragoman_ready{model" not in metrics.render()
        models.stop()

    asyncio.run(run())


def test_two_versions_are_in_memory_at_once_and_the_newer_one_is_measured(
    tmp_path: Path, tiny_tokenizer_file: Path
) -> None:
    """Front ends take a new version one after the other."""
    workshop = Workshop(tmp_path, tiny_tokenizer_file)
    old, new = (files_of(workshop.make("tiny", PAIRS, seed).parent) for seed in (0, 1))
    metrics, settings = Metrics(), {"models_dir": tmp_path, **SMALL, "memory_limit": 10**6}
    models = EngineModels(Settings.model_validate(settings), [], metrics)

    async def run() -> None:
        models.start()
        async with models.shared.lease([new]):
            newer = models.engines["tiny"]
            async with models.shared.lease([old]):
                with models.shared.lease_again(old) as loaded:
                    assert loaded.engine is not newer
                assert not any(map(models.shared.is_wanted_back, (old, new)))
            await eventually(lambda: models.engines == {"tiny": newer})
            assert b'dragoman_ready{model="tiny"} 1.0' in metrics.render()
        models.stop()

    asyncio.run(run())


def test_what_is_there_from_the_start_stays_while_others_come_and_go(
    tmp_path: Path, tiny_tokenizer_file: Path
) -> None:
    workshop = Workshop(tmp_path, tiny_tokenizer_file)
    own, store = workshop.make("own", PAIRS, 0), workshop.make("tiny", PAIRS, 0).parent
    given = {"model": [own], "models_dir": store, **SMALL, "memory_limit": 10**6}
    settings = Settings.model_validate(given)
    models = EngineModels(settings, load_models(settings), Metrics())

    async def run() -> None:
        models.start()
        async with models.shared.lease([files_of(store)]):
            assert set(models.engines) == {"own", "tiny"}
        await eventually(lambda: "tiny" not in models.engines)
        assert models.pinned["own"].engine.is_ready
        models.stop()

    asyncio.run(run())


def test_who_asks_for_a_model_that_is_damaged_or_wanted_no_more_hears_it(
    tmp_path: Path, tiny_tokenizer_file: Path
) -> None:
    place = Workshop(tmp_path, tiny_tokenizer_file).make("tiny", PAIRS, 0)
    weights = (place / WEIGHTS).read_bytes()
    (place / WEIGHTS).write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    files, settings = files_of(place.parent), {"models_dir": place.parent, **SMALL}
    models = EngineModels(Settings.model_validate(settings), [], Metrics())
    ask = HeldModels(models.shared, {}, lambda: None).answers()

    async def run() -> None:
        models.start()
        wanted = ask["load"]("1", [files])
        ask["give_back"]("1")
        assert await wanted == LoadAnswer(None, "it is not needed any more")
        for question in ("load", "reserve"):
            answer = await ask[question](question, [files])
            assert (answer.sizes, answer.is_damage) == (None, True)
            assert "does not match SHA256SUMS" in answer.failure
        models.stop()

    asyncio.run(run())


def test_what_is_preloaded_is_not_wanted_back_for_others(
    tmp_path: Path, tiny_tokenizer_file: Path
) -> None:
    workshop = Workshop(tmp_path, tiny_tokenizer_file)
    kept, other = (files_of(workshop.make("tiny", PAIRS, seed).parent) for seed in (0, 1))
    other = other._replace(name="other")
    room_for_one = {"models_dir": tmp_path, **SMALL, "memory_limit": 400_000, "preload": ["tiny"]}
    settings = Settings.model_validate(room_for_one)
    models = EngineModels(settings, [], Metrics())

    async def run() -> None:
        models.start()
        async with models.shared.lease([kept]), asyncio.timeout(20), models.shared.lease([other]):
            assert not models.shared.is_wanted_back(kept)
        models.stop()

    asyncio.run(run())
