"""Stores of tiny checkpoints, and servers over them on the event loop of a test."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx

from model.checkpoint import CheckpointInfo
from model.decoding.options import DecodingOptions
from model.text.tokenizer_config import TokenizerConfig
from service.app import create_app
from service.errors import ServiceError
from service.models.loading import load_models
from service.settings import Settings
from tests.conftest import TINY_CONFIG

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
        given = Settings.model_validate({"models_dir": directory, **SMALL, **more})
        self.app = create_app(given, load_models(given))
        self.models = self.app.state.server.models
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Server]:
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
