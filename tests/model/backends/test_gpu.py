"""What can only be checked where there is a GPU: it decodes and trains as the CPU does."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from model.backends.selection import Backend
from model.checkpoint.reference import load_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.offline import translate_all
from model.runner import Runner
from tests.model.network.reference import run_at_random, tiny_runner
from tests.model.test_runner import bad_sentence, mixed_sentences, overflowing_model, texts

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here"),
]

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("backend", ["eager", "graphs"])
def test_whoever_joins_leaves_or_overflows_changes_nobody_else(backend: Backend) -> None:
    """They join at random, some are abandoned, and some fail for scores that are not finite."""
    rng, model = random.Random(2), overflowing_model("encoder")
    sentences = [
        bad_sentence("encoder", rng.choice([1, 4])) if rng.random() < 0.15 else sentence
        for sentence in mixed_sentences(60, seed=2)
    ]
    alone = translate_all(tiny_runner(model, max_slots=1, max_rows=7), sentences)
    on_gpu = overflowing_model("encoder").to("cuda")
    runner = tiny_runner(on_gpu, max_slots=6, max_rows=20, backend=backend)
    runner.warm_up([DecodingOptions(beam_size=1), DecodingOptions(beam_size=4)])
    assert runner.is_recorded == (backend == "graphs")
    run = run_at_random(runner, sentences, rng, abandoned=0.1)
    for index, finished in run.results.items():
        assert finished.error == alone[index].error
        assert texts([finished]) == texts([alone[index]])


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-3), (torch.float16, 0.05), (torch.bfloat16, 0.3)],
)
@torch.inference_mode()
def test_logits_of_the_bundled_checkpoint_are_near_those_in_double_precision_on_the_cpu(
    dtype: torch.dtype, tolerance: float
) -> None:
    model = load_checkpoint(ROOT / "checkpoints" / "zh-en").model
    generator = torch.Generator().manual_seed(5)
    src, tgt = (torch.randint(10, 8000, (8, 20), generator=generator) for _ in range(2))
    expected = model.double()(src, tgt)
    found = model.to("cuda", dtype)(src.cuda(), tgt.cuda()).cpu().double()
    assert (found - expected).abs().max() < tolerance * expected.std()


def test_the_bundled_checkpoint_translates_on_the_gpu_as_on_the_cpu() -> None:
    """Greedy, float32; the two devices round differently, so one in a hundred may differ."""
    lines = (ROOT / "tests/data/sentences.zh.txt").read_text(encoding="utf-8").splitlines()
    results = []
    for device in ("cpu", "cuda"):
        checkpoint = load_checkpoint(ROOT / "checkpoints" / "zh-en", device)
        runner = Runner(
            checkpoint.model,
            checkpoint.tokenizer.control_ids(),
            max_slots=64,
            max_rows=64,
            max_source_tokens=256,
            max_target_tokens=256,
        )
        options = DecodingOptions(beam_size=1)
        sentences = [
            SourceSentence(checkpoint.tokenizer.encode_source(line, "en"), options)
            for line in lines
        ]
        results.append([r.hypotheses[0].ids for r in translate_all(runner, sentences)])
    same = sum(a == b for a, b in zip(*results, strict=True))
    assert same >= 0.99 * len(lines)
