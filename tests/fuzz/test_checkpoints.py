"""Damaged checkpoints are refused or load the same model; a few of the mutations."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from model.checking import add_self_test
from model.checkpoint import Checkpoint, load_checkpoint
from tests.fuzz.checkpoint_mutations import mutations, try_mutation
from tests.fuzz.tiny_server import make_checkpoint, make_tokenizer


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Checkpoint]:
    scratch = tmp_path_factory.mktemp("checkpoint")
    make_tokenizer(scratch / "tiny.model")
    make_checkpoint(scratch / "original", scratch / "tiny.model")
    add_self_test(scratch / "original")
    return scratch / "original", load_checkpoint(scratch / "original")


def test_damage_is_refused_or_changes_nothing(
    original: tuple[Path, Checkpoint], tmp_path: Path
) -> None:
    directory, expected = original
    some = random.Random(1).sample(list(itertools.islice(mutations(directory, 1), 700)), 60)
    for number, mutation in enumerate(some):
        outcome = try_mutation(directory, tmp_path / str(number), mutation, expected)
        if not mutation.is_signed and mutation.file != "SHA256SUMS":
            assert (
                outcome == "refused" or mutation.content == (directory / mutation.file).read_bytes()
            )
