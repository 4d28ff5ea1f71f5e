"""Profiles of hypothesis, and a real server of two tiny models with random weights.

A few examples run in every test run, and with `pytest tests/fuzz --hypothesis-profile fuzz` as
many as DRAGOMAN_FUZZ_EXAMPLES says.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings

from model.checkpoint import CheckpointInfo
from model.checkpoint.saving import save_checkpoint
from model.decoding.options import DecodingOptions
from model.network.transformer import Transformer, initialise
from model.text.languages import every_pair
from model.text.tokenizer_config import TokenizerConfig
from service.app import create_app
from service.models.loading import load_models
from service.settings import Settings
from tests.conftest import TINY_CONFIG, train_tiny_tokenizer
from tests.service.served import Served, served

_ALL = list(HealthCheck)
MOST_CHARACTERS = 100_000
_MODELS = {"zh-en": ("zh", "en"), "en-de": ("en", "de")}
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("DRAGOMAN_FUZZ_EXAMPLES", "2000")),
    deadline=None,
    suppress_health_check=_ALL,
    print_blob=True,
)
settings.register_profile(
    "few", max_examples=10, deadline=None, suppress_health_check=_ALL, derandomize=True
)


@pytest.fixture(scope="session")
def fuzz_profile(request: pytest.FixtureRequest) -> settings:
    """The profile that was asked for on the command line, else a few fixed examples."""
    is_asked = request.config.getoption("--hypothesis-profile", None)
    return settings.get_profile(is_asked or "few")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Tiny models, small messages, few requests of a websocket."""
    scratch = tmp_path_factory.mktemp("tiny")
    with tiny_server(
        scratch,
        database=scratch / "server.db",
        max_characters=MOST_CHARACTERS,
        max_body_bytes=1_048_576,
        max_streams=4,
    ) as server:
        yield server


@contextlib.contextmanager
def tiny_server(scratch: Path, **settings: Any) -> Iterator[Served]:
    """Serve both models with these settings; `scratch` is an empty directory."""
    tokenizer = scratch / "tiny.model"
    train_tiny_tokenizer(tokenizer)
    for name, languages in _MODELS.items():
        torch.manual_seed(3)
        model = Transformer(TINY_CONFIG)
        initialise(model, "xavier")
        info = CheckpointInfo(
            name=name,
            architecture=TINY_CONFIG,
            pairs=every_pair(languages, languages),
            tokenizer=TokenizerConfig(tokenizer.name, tokenizer.name),
            decoding=DecodingOptions(beam_size=2),
        )
        save_checkpoint(scratch / name, info, model.weights, [tokenizer], torch.float32)
    given = Settings(
        model=tuple(scratch / name for name in _MODELS),
        device="cpu",
        max_target_tokens=16,
        **settings,
    )
    with served(create_app(given, load_models(given))) as server:
        yield server
