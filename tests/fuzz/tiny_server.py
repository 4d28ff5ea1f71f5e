"""A real server of two tiny models with random weights, so that a translation takes milliseconds.

Both have the names and pairs of the bundled models: zh-en and en-de.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from model.checkpoint import CheckpointInfo
from model.checkpoint.saving import save_checkpoint
from model.decoding.options import DecodingOptions
from model.network.transformer import Transformer, initialise
from model.text.languages import every_pair
from model.text.tokenizer_config import TokenizerConfig
from service.app import create_app
from service.loading import load_models
from service.settings import Settings
from tests.conftest import TINY_CONFIG, train_tiny_tokenizer
from tests.service.served import Served, served

_MODELS = {"zh-en": ("zh", "en"), "en-de": ("en", "de")}


def make_checkpoint(
    directory: Path, tokenizer: Path, name: str = "tiny", languages: tuple[str, ...] = ("zh", "en")
) -> None:
    """Save a tiny model with random weights that translates between all the languages."""
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
    save_checkpoint(directory, info, model.weights, [tokenizer], torch.float32)


@contextlib.contextmanager
def tiny_server(scratch: Path, **settings: Any) -> Iterator[Served]:
    """Serve both models with these settings; `scratch` is an empty directory."""
    tokenizer = scratch / "tiny.model"
    train_tiny_tokenizer(tokenizer)
    for name, languages in _MODELS.items():
        make_checkpoint(scratch / name, tokenizer, name, languages)
    given = Settings(
        model=tuple(scratch / name for name in _MODELS),
        device="cpu",
        max_target_tokens=16,
        **settings,
    )
    with served(create_app(given, load_models(given))) as server:
        yield server
