"""One small original of each family, and our import of it, for the whole session."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.importers.imported import Wanted
from model.importers.resolve import import_source
from tests.model.importers.originals import Corpus, Original, make_corpus, make_originals


@pytest.fixture(scope="session", autouse=True)
def quiet_transformers() -> Iterator[None]:
    """Its warnings are about itself, and its progress bars are nobody's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory, tiny_pairs: Path) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"), tiny_pairs)


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> dict[str, Original]:
    """Every family's model, by the name that the tests are parametrised with."""
    return make_originals(tmp_path_factory.mktemp("originals"), corpus)


@pytest.fixture(scope="session")
def random_originals(
    tmp_path_factory: pytest.TempPathFactory, corpus: Corpus
) -> dict[str, Original]:
    """Models that were not trained, for tests that never translate: a worker that runs no others
    saves twenty seconds."""
    return make_originals(tmp_path_factory.mktemp("untrained"), corpus, steps=0)


@pytest.fixture(scope="session")
def untrained(random_originals: dict[str, Original]) -> dict[str, Path]:
    """Their directories."""
    return {name: original.directory for name, original in random_originals.items()}


@pytest.fixture(scope="session")
def imported_root(tmp_path_factory: pytest.TempPathFactory, originals: dict[str, Original]) -> Path:
    """A directory with our import of every original."""
    root = tmp_path_factory.mktemp("imported")
    for name, original in originals.items():
        import_source(str(original.directory), root / name, None, Wanted())
    return root


@pytest.fixture(scope="session")
def imported(imported_root: Path, originals: dict[str, Original]) -> dict[str, Checkpoint]:
    return {name: load_checkpoint(imported_root / name) for name in originals}
