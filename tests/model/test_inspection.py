"""The attention of a translation as numbers is the reference network's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from model.checkpoint import open_checkpoint
from model.checkpoint.reference import load_checkpoint
from model.inspection import attention_tables
from model.network.attention_maps import attention_maps

BUNDLED = Path("checkpoints/en-de")


def test_tables_are_the_references_rounded_to_four_places() -> None:
    stored, loaded = open_checkpoint(BUNDLED), load_checkpoint(BUNDLED)
    source = stored.tokenizer.encode_source("Where is the library?", "de", "en")
    (target,) = stored.tokenizer.encode_target_batch(["Wo ist die Bibliothek?"])
    config = loaded.model.config
    tables = attention_tables(stored.model, source, [*target, config.eos_id])
    maps = attention_maps(loaded.model, source, [config.bos_id, *target])
    for table, expected in zip(tables, maps, strict=True):
        found = torch.tensor(table)
        torch.testing.assert_close(found, expected, atol=6e-5, rtol=0)
        torch.testing.assert_close(found.sum(-1), torch.ones(found.shape[:-1]), atol=5e-3, rtol=0)
        assert all(len(str(number)) <= 6 for number in numbers(table))


def numbers(table: object) -> Iterator[float]:
    if not isinstance(table, list):
        assert isinstance(table, float)
        yield table
        return
    for part in table:
        yield from numbers(part)
