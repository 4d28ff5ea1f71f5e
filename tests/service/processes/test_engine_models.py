"""What an engine process loads and lets go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from model.checkpoint import CheckpointError
from service.models.store import ModelStore
from service.observability.metrics import Metrics
from service.processes.engine_models import EngineModels
from service.processes.messages import ModelFiles
from service.settings import Settings
from tests.service.models.tiny_stores import PAIRS, SMALL, Workshop


def files_of(store: Path) -> ModelFiles:
    stored = ModelStore(store).find("tiny")
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
        first = files_of(store)
        loaded = await models.load(first)
        assert set(models.engines) == {"tiny"}
        for file in newer.iterdir():
            file.replace(place / file.name)
        with pytest.raises(CheckpointError, match="have changed"):
            await models.load(first)
        second = await models.load(files_of(store))
        await models.let_go(loaded)
        assert models.engines == {"tiny": second.engine}
        assert b"dragoman_ready{model" in metrics.render()
        await models.let_go(second)
        assert not models.engines
        assert b"dragoman_ready{model" not in metrics.render()
        models.stop()

    asyncio.run(run())
