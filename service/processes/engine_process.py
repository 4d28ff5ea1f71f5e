"""What an engine process does: it has the models in memory and works for the front ends."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Mapping, Sequence

from service.engine.engine import Engine
from service.models.loading import LoadedModel, load_models
from service.models.local_models import LocalModels
from service.models.served import Batches
from service.observability.metrics import Metrics
from service.processes.control import ChildEnd
from service.processes.engine_server import EngineServer
from service.processes.messages import families_fields
from service.processes.questions import Answers
from service.processes.supervisor import END
from service.settings import Settings

_logger = logging.getLogger(__name__)


def run_engine(settings: Settings, models: Sequence[LoadedModel] | None, line: ChildEnd) -> int:
    """Work until the parent ends it -> the exit code. `models`: with weights that the processes
    share; None: it loads its own. Raises StartupError."""
    if models is None:
        models = load_models(settings)
        _logger.info("it has %s in memory", ", ".join(model.summary for model in models))
    metrics = Metrics()
    registry = LocalModels(settings, models, metrics, niceness=0)
    gc.freeze()
    asyncio.run(_serve(registry, {one.name: one.num_bytes for one in models}, metrics, line))
    return 0


async def _serve(
    registry: LocalModels, num_bytes: Mapping[str, int], metrics: Metrics, line: ChildEnd
) -> None:
    is_ending = asyncio.Event()
    engines = {name: model.engine for name, model in registry.pool.loaded.items()}
    async with registry.running():
        server = EngineServer(engines, num_bytes, _answers(engines, metrics))
        async with server.running():
            line.follow(lambda _, connected: server.serve(connected), {END: is_ending.set})
            line.say_ready()
            await is_ending.wait()


def _answers(engines: dict[str, Engine], metrics: Metrics) -> Answers:
    return {
        "batches": lambda since: Batches.of(engines, since),
        "metrics": lambda: families_fields(metrics.registry.collect()),
        "engines": lambda: families_fields(metrics.engine_families()),
    }
