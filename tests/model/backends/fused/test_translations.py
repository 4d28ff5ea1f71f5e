"""A runner with fused kernels translates like one without, whatever sentences ask for."""

from __future__ import annotations

import itertools

import pytest

from model.backends.fast_paths import FUSED_PATHS, FastPath
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence, Term, TermForm
from model.runner import Runner
from tests.model.network.reference import CONTROL_IDS, EOS, run_to_end, tiny_model

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy computes the kernels
LENGTH = 4
CROWD = [
    SourceSentence([5, 7, 9, EOS], DecodingOptions(beam_size=1, max_length=LENGTH)),
    SourceSentence(
        [8, 6, EOS],
        DecodingOptions(beam_size=3, n_best=3, max_length=LENGTH, length_penalty=0.6),
        prefix=(5,),
        is_streamed=True,
    ),
]
WITH_GUARDS = [
    *CROWD,
    SourceSentence(
        [4, EOS],
        DecodingOptions(
            beam_size=2, max_length=LENGTH, repetition_penalty=1.3, no_repeat_ngram_size=2
        ),
    ),
    SourceSentence(
        [9, 9, EOS],
        DecodingOptions(beam_size=1, max_length=LENGTH, sampling=True, top_p=0.9, seed=3),
    ),
]
WITH_TERMS = [
    *CROWD,
    SourceSentence(
        [6, 10, EOS],
        DecodingOptions(beam_size=2, max_length=LENGTH),
        terms=(Term((TermForm((9, 11)),)),),
    ),
]


def translated(crowd: list[SourceSentence], fused: tuple[FastPath, ...]) -> list[Finished]:
    """By steps as they are recorded; nothing is recorded on a CPU."""
    runner = Runner(
        tiny_model(seed=3),
        CONTROL_IDS,
        max_slots=4,
        max_rows=8,
        max_source_tokens=8,
        max_target_tokens=8,
        backend="graphs",
        byte_ids={10: 0x41, 11: 0xC3, 12: 0xA9},
        fast_paths=fused,
    )
    return run_to_end(runner, crowd)


@pytest.mark.parametrize(
    "crowd", [CROWD, WITH_GUARDS, WITH_TERMS], ids=["plain", "guards", "terms"]
)
@pytest.mark.parametrize("fused", [*itertools.combinations(FUSED_PATHS, 1), FUSED_PATHS])
def test_a_crowd_is_translated_alike(
    crowd: list[SourceSentence], fused: tuple[FastPath, ...]
) -> None:
    for ours, theirs in zip(translated(crowd, fused), translated(crowd, ()), strict=True):
        assert [h.ids for h in ours.hypotheses] == [h.ids for h in theirs.hypotheses]
        for our, their in zip(ours.hypotheses, theirs.hypotheses, strict=True):
            assert our.score == pytest.approx(their.score, abs=1e-4)
            assert our.log_probs == pytest.approx(their.log_probs, abs=1e-4)
            assert our.finish_reason == their.finish_reason
