"""What the tests of the network share: a tiny architecture, tiny parallel text, its tokenizer.

torch is imported by the fixtures that need it, so that tests of the service run without.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import settings

from model.network.config import ModelConfig

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting busily takes a core from others
for _name in [name for name in os.environ if name.startswith("DRAGOMAN_")]:
    if not _name.startswith(("DRAGOMAN_FUZZ_", "DRAGOMAN_INSTRUCTION_SET")):
        del os.environ[_name]
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # not each process compiles all modules
os.environ["XDG_DATA_HOME"] = os.devnull  # no models that the user pulled
os.environ.pop("SSL_CERT_FILE", None)  # tests use no TLS, and each client would read the system's
os.environ["SSL_CERT_DIR"] = os.devnull  # certificates, which takes it 20 milliseconds
settings.register_profile("patient", deadline=None)  # a machine may be slow and busy
settings.load_profile("patient")

TINY_PAIRS = Path(__file__).parent / "data" / "tiny.zh-en.tsv"
TINY_VOCAB_SIZE = 450
TINY_CONFIG = ModelConfig(
    src_vocab_size=TINY_VOCAB_SIZE,
    tgt_vocab_size=TINY_VOCAB_SIZE,
    d_model=16,
    n_heads=4,
    d_ff=32,
    n_encoder_layers=2,
    n_decoder_layers=2,
    dropout=0.0,
    max_positions=64,
)
FullDisk = Callable[[int], AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """After a test the log is as it was before, so that later ones print nothing into the dots."""
    loggers = [logging.getLogger(name) for name in (None, "asyncio", "httpx2")]
    handlers, levels = list(loggers[0].handlers), [logger.level for logger in loggers]
    yield
    loggers[0].handlers[:] = handlers
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture(autouse=True, scope="module")
def frozen_heap() -> None:
    """The garbage collector passes over what is there already, such as modules and thousands of
    tests, which takes it half a second each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """What runs the tests that are coroutines."""
    return "asyncio"


@pytest.fixture(scope="session")
def tiny_pairs() -> Path:
    """300 simple sentence pairs, Chinese and English, as a TSV file."""
    return TINY_PAIRS


@pytest.fixture(scope="session")
def tiny_tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentencepiece model of TINY_VOCAB_SIZE pieces, trained as `dragoman train` would."""
    return train_tiny_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tiny.model")


def train_tiny_tokenizer(
    path: Path, vocab_size: int = TINY_VOCAB_SIZE, reserved_pieces: int = 0
) -> Path:
    """Train a sentencepiece model of the tiny pairs."""
    from model.training.recipe import CorpusTable, DataTable, Recipe, TokenizerTable, TrainingTable
    from model.training.setup import train_tokenizer

    data = DataTable(languages=("zh", "en"), corpora=(CorpusTable("tiny", TINY_PAIRS),))
    table = TokenizerTable(vocab_size=vocab_size, reserved_pieces=reserved_pieces)
    train_tokenizer(Recipe("tiny", {}, data, table, TrainingTable(max_steps=1)), path)
    return path


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_tokenizer_file: Path) -> Tokenizer:
    from model.text.tokenizer import Tokenizer

    return Tokenizer(tiny_tokenizer_file, tiny_tokenizer_file)


@pytest.fixture(scope="session")
def tiny_config() -> ModelConfig:
    """A Transformer that runs in milliseconds and fits the tiny tokenizer."""
    return TINY_CONFIG


@pytest.fixture
def full_disk() -> FullDisk:
    """With it no file grows beyond so many bytes: the system refuses to write more, as it does on a
    full disk, with EFBIG in place of ENOSPC."""

    @contextlib.contextmanager
    def limit(num_bytes: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limit
