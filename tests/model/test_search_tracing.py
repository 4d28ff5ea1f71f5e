"""The written-down beam search finds what the engine finds, and its steps explain it."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.backends.native import is_available
from model.backends.selection import prepare
from model.checkpoint import open_checkpoint
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.search_trace import Fate, SearchTrace
from model.decoding.sentence import SourceSentence
from model.inspection import TracedModel, trace_search
from model.runner import Runner
from tests.model.network.reference import CONTROL_IDS, EOS, run_to_end, tiny_model

BUNDLED = Path("checkpoints/en-de")
TEXTS = [
    "Where is the library?",
    "I bought a new bicycle last week.",
    "The weather is nice today.",
    "Can you help me, please?",
    "Thank you very much for your letter.",
]


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
    traced = TracedModel(packed, control_ids, byte_ids, copied_ids, precision, None)
    traces = [trace_search(traced, sentence, 128) for sentence in sentences]
    assert [list(trace.best) for trace in traces] == [best.ids for best in found]
    assert [trace.score for trace in traces] == pytest.approx([b.score for b in found], abs=1e-3)


def tiny_trace(options: DecodingOptions, prefix: tuple[int, ...] = ()) -> SearchTrace:
    traced = TracedModel(tiny_model(seed=3), CONTROL_IDS, {}, {}, "float32", "eager")
    return trace_search(traced, SourceSentence([5, 7, 9, EOS], options, prefix=prefix), 20)


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_each_candidate_extends_a_hypothesis_that_was_kept(beam_size: int) -> None:
    trace = tiny_trace(DecodingOptions(beam_size=beam_size, max_length=12))
    totals = {0: 0.0}
    for step in trace.steps:
        assert len(step.likeliest) == len(totals)
        assert len(step.candidates) <= 2 * beam_size
        for candidate in step.candidates:
            expected = totals[candidate.parent] + candidate.log_prob
            assert candidate.total == pytest.approx(expected, abs=1e-4)
            assert (candidate.place is not None) == (candidate.fate is Fate.KEPT)
        assert [c.total for c in step.candidates] == sorted(
            (c.total for c in step.candidates), reverse=True
        )
        totals = {c.place: c.total for c in step.candidates if c.place is not None}
        assert sorted(totals) == list(range(len(totals)))
        assert len(totals) <= beam_size
