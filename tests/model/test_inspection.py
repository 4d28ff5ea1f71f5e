"""What is shown of a translation: its attention is the reference network's, and the written-down
beam search finds what the engine finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from model.backends.native import is_available
from model.backends.selection import prepare
from model.checkpoint import open_checkpoint
from model.checkpoint.reference import load_checkpoint
from model.decoding.decoder import Precision
from model.decoding.sentence import SourceSentence
from model.inspection import TracedModel, attention_tables, trace_search
from model.network.attention_maps import attention_maps
from model.runner import Runner
from tests.model.network.reference import run_to_end

BUNDLED = Path("checkpoints/en-de")
TEXTS = [
    "Where is the library?",
    "I bought a new bicycle last week.",
    "The weather is nice today.",
    "Can you help me, please?",
    "Thank you very much for your letter.",
]


def test_tables_are_the_references_rounded_to_four_places() -> None:
    stored, loaded = open_checkpoint(BUNDLED), load_checkpoint(BUNDLED)
    source = stored.tokenizer.encode_source("Where is the library?", "de", "en")
    (target,) = stored.tokenizer.encode_target_batch(["Wo ist die Bibliothek?"])
    config = loaded.model.config
    tables = attention_tables(stored.model, source, [*target, config.eos_id])
    maps = attention_maps(loaded.model, source, [config.bos_id, *target])
    assert max(map(len, re.findall(r"[\d.e-]+", str(tables)))) <= len("0.1234")
    for table, expected in zip(tables, maps, strict=True):
        found = torch.tensor(table)
        torch.testing.assert_close(found, expected, atol=6e-5, rtol=0)
        torch.testing.assert_close(found.sum(-1), torch.ones(found.shape[:-1]), atol=5e-3, rtol=0)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_the_best_hypothesis_is_the_engines_for_every_sentence(precision: Precision) -> None:
    """The engine decodes all of them together."""
    assert is_available()
    stored = open_checkpoint(BUNDLED)
    control_ids, byte_ids = stored.tokenizer.control_ids(), stored.tokenizer.byte_ids()
    copied_ids = stored.tokenizer.copied_ids()
    packed = prepare(stored.model, control_ids, precision, None)
    runner = Runner(
        packed,
        control_ids,
        max_slots=32,
        max_rows=128,
        max_source_tokens=128,
        max_target_tokens=128,
        precision=precision,
        byte_ids=byte_ids,
        copied_ids=copied_ids,
    )
    sentences = [
        SourceSentence(stored.tokenizer.encode_source(text, "de", "en"), stored.info.decoding)
        for text in TEXTS
    ]
    found = [result.hypotheses[0] for result in run_to_end(runner, sentences)]
    pieces = stored.tokenizer.pieces
    traced = TracedModel(packed, control_ids, byte_ids, copied_ids, precision, None, pieces)
    traces = [trace_search(traced, sentence, 128) for sentence in sentences]
    assert [list(trace.best) for trace in traces] == [best.ids for best in found]
    assert [trace.score for trace in traces] == pytest.approx([b.score for b in found], abs=1e-3)
