"""What an engine process does: it has the models in memory and works for the front ends."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence

from service.engine.engine import Engine
from service.models.loading import LoadedModel
from service.models.registry import ModelRegistry
from service.models.served import Batches
from service.observability.metrics import Metrics
from service.processes.control import ChildEnd
from service.processes.engine_server import EngineServer
from service.processes.messages import families_fields
from service.processes.questions import Answers
from service.processes.supervisor import END
from service.settings import Settings


def run_engine(settings: Settings, models: Sequence[LoadedModel], line: ChildEnd) -> int:
    """Work until the parent ends it -> the exit code. Raises StartupError."""
    metrics = Metrics()
    registry = ModelRegistry(settings, models, metrics, niceness=0)
    gc.freeze()
    asyncio.run(_serve(registry, metrics, line))
    return 0


async def _serve(registry: ModelRegistry, metrics: Metrics, line: ChildEnd) -> None:
    is_ending = asyncio.Event()
    async with registry.running():
        server = EngineServer(registry.pool.engines, _answers(registry.pool.engines, metrics))
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
