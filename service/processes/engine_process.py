"""What an engine process does: it has models in memory and works for the front ends."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Sequence

from model.backends.shared_files import SharedFiles
from service.models.loading import LoadedModel, load_models
from service.models.served import Batches
from service.observability.metrics import Metrics
from service.processes.control import ChildEnd
from service.processes.engine_models import EngineModels
from service.processes.engine_server import EngineServer
from service.processes.messages import families_fields
from service.processes.questions import Answers
from service.processes.supervisor import END
from service.settings import Settings

_logger = logging.getLogger(__name__)


def run_engine(
    settings: Settings,
    pinned: Sequence[LoadedModel] | None,
    line: ChildEnd,
    files: SharedFiles | None = None,
) -> int:
    """Work until the parent ends it -> the exit code. `pinned`: models with weights that the
    processes share; None: it loads its own. `files`: as of `EngineModels`. Raises StartupError."""
    if pinned is None:
        pinned = load_models(settings)
        _logger.info("it has %s in memory", ", ".join(model.summary for model in pinned))
    metrics = Metrics()
    models = EngineModels(settings, pinned, metrics, files)
    gc.freeze()
    asyncio.run(_serve(models, metrics, line))
    return 0


async def _serve(models: EngineModels, metrics: Metrics, line: ChildEnd) -> None:
    is_ending = asyncio.Event()
    server = EngineServer(models.pinned, models.shared, answers_of(models, metrics))
    models.start()
    async with server.running():
        line.follow(lambda _, connected: server.serve(connected), {END: is_ending.set})
        line.say_ready()
        await is_ending.wait()
    models.stop()


def answers_of(models: EngineModels, metrics: Metrics) -> Answers:
    """What front ends and the hub ask an engine process."""
    return {
        "batches": lambda since: Batches.of(models.engines, since),
        "metrics": lambda: families_fields(metrics.registry.collect()),
        "engines": lambda: families_fields(metrics.engine_families()),
    }
