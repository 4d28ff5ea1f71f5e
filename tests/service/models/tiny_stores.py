"""Stores of tiny checkpoints, and servers over them on the event loop of a test."""

from __future__ import annotations

import contextlib
import functools
import itertools
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Self

import httpx
from fastapi import FastAPI

from model.checkpoint import CheckpointInfo
from model.decoding.options import DecodingOptions
from model.text.tokenizer_config import TokenizerConfig
from service.app import create_app, create_app_over
from service.errors import ServiceError
from service.models.loading import load_models, memory_limit
from service.observability.metrics import Metrics
from service.processes.control import ParentEnd, Peer
from service.processes.engine_models import EngineModels
from service.processes.engine_process import answers_of
from service.processes.engine_server import EngineServer
from service.processes.remote_models import RemoteModels
from service.settings import Settings
from tests.conftest import TINY_CONFIG
from tests.service.fakes import eventually

Pair = tuple[str, str]
Answer = tuple[int, str]
"""Status and translation."""
PAIRS = tuple(itertools.product(("zh", "de"), ("en", "fr")))
"""No target is a source, so no route has two hops."""
TEXT = "你好"
WEIGHTS, TOKENIZER = "model.safetensors", "tiny.model"
NUM_SEEDS = 4
SMALL = {"device": "cpu", "threads": 1, "workers": 1, "max_slots": 4, "max_rows": 16,
         "max_beam_size": 4, "max_target_tokens": 16, "cache_bytes": 0}  # fmt: skip


class Workshop:
    """Makes tiny checkpoints, whose weights are random numbers of a seed."""

    def __init__(self, directory: Path, tokenizer: Path) -> None:
        import torch

        from model.checkpoint.saving import save_checkpoint
        from tests.model.test_checkpoint import random_model

        self._directory, self._tokenizer, self._numbers = directory, tokenizer, itertools.count()
        self._weights = [random_model(TINY_CONFIG, seed).weights for seed in range(NUM_SEEDS)]
        self._save = functools.partial(save_checkpoint, dtype=torch.float32)
        self.texts: dict[tuple[int, Pair], str] = {}
        """What each seed makes of TEXT."""

    def make(self, name: str, pairs: Sequence[Pair], seed: int) -> Path:
        files = TokenizerConfig(TOKENIZER, TOKENIZER)
        info = CheckpointInfo(name, TINY_CONFIG, tuple(pairs), files, DecodingOptions(beam_size=1))
        directory = self.new_directory() / name
        self._save(directory, info, self._weights[seed], [self._tokenizer])
        return directory

    def new_directory(self) -> Path:
        directory = self._directory / str(next(self._numbers))
        directory.mkdir()
        return directory

    async def learn_texts(self) -> None:
        for seed in range(NUM_SEEDS):
            async with Server(self.make("tiny", PAIRS, seed).parent).running() as server:
                for pair in PAIRS:
                    _, self.texts[seed, pair] = await server.translate(pair)
        assert len(set(self.texts.values())) >= NUM_SEEDS


class Server:
    """The app over a store, asked on the event loop of the test."""

    def __init__(self, directory: Path, **more: object) -> None:
        self.settings = Settings.model_validate({"models_dir": directory, **SMALL, **more})
        self.app = self._make_app()
        self.models = self.app.state.server.models
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def _make_app(self) -> FastAPI:
        return create_app(self.settings, load_models(self.settings))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        async with self.app.router.lifespan_context(self.app), self._client:
            yield self

    async def get(self, path: str) -> httpx.Response:
        return await self._client.get(path)

    async def translate(self, pair: Pair, model: str | None = None) -> Answer:
        fields = {"q": TEXT, "source": pair[0], "target": pair[1], "model": model}
        answer = await self._client.post("/translate", json=fields)
        return answer.status_code, answer.json().get("translatedText", "")

    async def reload(self, name: str) -> None:
        """As an admin's request does; the store may have no such model, or a broken one."""
        with contextlib.suppress(ServiceError):
            await self.models.reload(name)


class FarServer(Server):
    """The same, with its engine behind a connection, as if it were in another process."""

    def _make_app(self) -> FastAPI:
        limit = memory_limit(self.settings)
        self.settings = self.settings.model_copy(update={"memory_limit": limit})
        self._parent, self._line = ParentEnd.pair()
        self._engine, self._numbers = contextlib.AsyncExitStack(), itertools.count()
        engines, metrics = {"engine-0": self._seen_settings}, Metrics()
        remote = RemoteModels(self.settings, [], metrics, "front-end-0", engines, self._line, {})
        return create_app_over(self.settings, remote, metrics)

    @property
    def _seen_settings(self) -> Settings:
        """Those of the engine as the front end knows them."""
        return self.settings

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        await self._start_engine()
        async with super().running():
            yield self
        await self._engine.aclose()
        self._line.close()
        self._parent.close()

    async def kill(self) -> None:
        """End the engine's process, and start another."""
        await self._engine.aclose()
        await self._start_engine()

    async def _start_engine(self) -> None:
        metrics = Metrics()
        models = EngineModels(self.settings, [], metrics)
        models.start()
        server = EngineServer(models.pinned, models.shared, answers_of(models, metrics))
        ours, theirs = socket.socketpair()
        self._engine.push_async_callback(_left, models)
        await self._engine.enter_async_context(server.running())
        await server.serve(theirs)
        await self.models.connect(Peer("engine-0", next(self._numbers)), ours)


class GpuServer(FarServer):
    """The same, as if the engine were on a GPU, which the front end must not look at."""

    @property
    def _seen_settings(self) -> Settings:
        return self.settings.model_copy(update={"device": "cuda", "memory_limit": 0})


async def _left(models: EngineModels) -> None:
    """Wait until all models have left, as they have when a process has ended."""
    await eventually(lambda: not models.engines)
    models.stop()
