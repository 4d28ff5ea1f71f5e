"""The models that the parts measure: random weights in the sizes of known ones, and zh-en."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import torch

from model.backends.pytorch.cuda_graphs import GraphedStep
from model.backends.pytorch.decoder import TensorDecoder
from model.backends.selection import Backend
from model.checkpoint.reference import load_checkpoint
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.runner import Runner

ZH_EN = Path(__file__).parents[2] / "checkpoints" / "zh-en"
SENTENCES = Path(__file__).parents[2] / "tests" / "data" / "sentences.zh.txt"
TINY = ModelConfig(200, 200, 32, 2, 64, 2, 2, norm="pre", max_positions=64)
SHAPES = {
    "small": ModelConfig(8000, 8000, 256, 4, 1024, 5, 2, norm="pre", max_positions=256),
    "wmt12-1": ModelConfig(32000, 32000, 512, 8, 2048, 12, 1, max_positions=64),
    "opus": ModelConfig(
        58101, 58101, 512, 8, 2048, 6, 6, norm="post", activation="silu", max_positions=512
    ),
    "nllb600": ModelConfig(256206, 256206, 1024, 16, 4096, 12, 12, norm="pre", max_positions=1024),
}


def shapes_for(device: str) -> dict[str, ModelConfig]:
    """All on a GPU; on a CPU, where only the script is tried, a tiny one."""
    return SHAPES if device != "cpu" else {"tiny": TINY}


def half(device: str) -> Precision:
    return "float16" if device != "cpu" else "float32"


def random_model(config: ModelConfig, device: str, seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    with torch.device(device):  # a GPU draws the numbers of a large model faster
        model = Transformer(config)
    initialise(model, "xavier")
    return model.to(device).eval()


def runner_of(
    model: Transformer,
    slots: int,
    beam: int,
    precision: Precision,
    backend: Backend | None = "graphs",
    longest: int = 128,
) -> Runner:
    """Ends are never generated, so that each sentence runs to its limit. `longest`: tokens of a
    source or a translation."""
    config = model.config
    longest = min(longest, config.max_positions)
    return Runner(
        model,
        [config.pad_id, config.bos_id, config.eos_id],
        max_slots=slots,
        max_rows=slots * beam,
        max_source_tokens=longest,
        max_target_tokens=longest,
        max_beam_size=beam,
        precision=precision,
        backend=backend,
    )


def random_sentences(
    config: ModelConfig, count: int, beam: int, target: int | None = None
) -> list[SourceSentence]:
    """Sources of 10 to 30 tokens; translations of `target` tokens, or else of 12 to 40."""
    rng = random.Random(1)
    tokens = range(10, config.src_vocab_size)
    options = {
        length: DecodingOptions(beam_size=beam, max_length=min(length, config.max_positions))
        for length in ([target] if target else range(12, 41))
    }
    return [
        SourceSentence(
            [*rng.choices(tokens, k=rng.randint(10, 30)), config.eos_id],
            options[target or rng.randint(12, 40)],
        )
        for _ in range(count)
    ]


def real_runner(
    device: str, slots: int, precision: Precision, backend: Backend | None = "graphs"
) -> Runner:
    """The bundled checkpoint zh-en."""
    checkpoint = load_checkpoint(ZH_EN, device)
    return Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=slots,
        max_rows=4 * slots,
        max_source_tokens=128,
        max_target_tokens=128,
        precision=precision,
        backend=backend,
        byte_ids=checkpoint.tokenizer.byte_ids(),
        copied_ids=checkpoint.tokenizer.copied_ids(),
    )


def real_sentences(count: int, beam: int) -> list[SourceSentence]:
    """Lines of the test data, over and over."""
    checkpoint = load_checkpoint(ZH_EN)
    known = SENTENCES.read_text(encoding="utf-8").splitlines()
    lines = itertools.islice(itertools.cycle(known), count)
    options = DecodingOptions(beam_size=beam)
    encode = checkpoint.tokenizer.encode_source
    return [SourceSentence(encode(line, "en", "zh")[:128], options) for line in lines]


def graphed_step(runner: Runner) -> GraphedStep:
    """The recorded steps of a runner."""
    decoder = runner._decoder
    assert isinstance(decoder, TensorDecoder)
    assert isinstance(decoder.step, GraphedStep)
    return decoder.step
