"""Transformers' `generate` and our runner: the same random weights of OPUS-MT's shape, the same
sentences, translations of one length, in half precision."""

from __future__ import annotations

import functools
import statistics
from typing import Any

import torch

from benchmarks.gpu.figures import note
from benchmarks.gpu.models import half, random_sentences, runner_of
from benchmarks.gpu.speed import milliseconds
from model.decoding.sentence import SourceSentence
from model.importers.names import convert
from model.network.config import ModelConfig
from model.network.transformer import Transformer
from model.offline import translate_all

_LENGTH = 26
_OPUS = {"vocab_size": 58101, "d_model": 512, "layers": 6, "heads": 8, "d_ff": 2048}
_TINY = {"vocab_size": 200, "d_model": 32, "layers": 2, "heads": 2, "d_ff": 64}


@torch.inference_mode()
def peers(device: str) -> None:
    """How many translations are alike in float32; then the target tokens a second of both in half
    precision, by batch and beam."""
    sizes, batches = (_OPUS, (128, 64, 256)) if device != "cpu" else (_TINY, (4,))
    theirs = _marian(sizes).to(device).eval()
    ours = _same_weights(theirs, sizes).to(device).eval()
    for beam in (1, 4):
        given = random_sentences(ours.config, 16, beam, target=_LENGTH)
        found = translate_all(runner_of(ours, 16, beam, "float32", longest=64), given)
        expected = _generated(theirs, given, beam, device)
        pairs = [(list(f.hypotheses[0].ids), e) for f, e in zip(found, expected, strict=True)]
        alike = sum(ids == other[: len(ids)] for ids, other in pairs)  # ours ends a loop early
        note("peers", beam=beam, precision="float32", sentences=16, alike=alike)
    theirs = theirs.half() if device != "cpu" else theirs
    for batch in batches:
        for beam in (1, 4):
            given = random_sentences(ours.config, batch, beam, target=_LENGTH)
            runner = runner_of(ours, batch, beam, half(device), longest=64)
            translate = functools.partial(translate_all, runner, given)
            generate = functools.partial(_generated, theirs, given, beam, device)
            for work in (translate, translate, generate):
                work()
            taken = [(milliseconds(translate, device), milliseconds(generate, device))]
            taken += [(milliseconds(translate, device), taken[0][1]) for _ in range(2)]
            own, other = map(statistics.median, zip(*taken, strict=True))
            own_tokens = sum(len(one.hypotheses[0].ids) for one in translate())
            note(
                "peers", batch=batch, beam=beam, precision=half(device),
                dragoman_tokens_per_second=1000 * own_tokens / own,
                transformers_tokens_per_second=1000 * batch * _LENGTH / other,
            )  # fmt: skip


def _marian(sizes: dict[str, int]) -> Any:
    from transformers import MarianConfig, MarianMTModel

    options: dict[str, Any] = {
        "vocab_size": sizes["vocab_size"],
        "d_model": sizes["d_model"],
        "activation_function": "swish",
        "scale_embedding": True,
        "max_position_embeddings": 512,
        "pad_token_id": sizes["vocab_size"] - 1,
        "decoder_start_token_id": sizes["vocab_size"] - 1,
        "eos_token_id": 0,
        "forced_eos_token_id": None,
    }
    for side in ("encoder", "decoder"):
        options[f"{side}_layers"] = sizes["layers"]
        options[f"{side}_attention_heads"] = sizes["heads"]
        options[f"{side}_ffn_dim"] = sizes["d_ff"]
    torch.manual_seed(0)
    return MarianMTModel(MarianConfig(**options))


def _same_weights(theirs: Any, sizes: dict[str, int]) -> Transformer:
    weights = {name.removeprefix("model."): value for name, value in theirs.state_dict().items()}
    config = ModelConfig(
        sizes["vocab_size"], sizes["vocab_size"], sizes["d_model"], sizes["heads"], sizes["d_ff"],
        sizes["layers"], sizes["layers"], activation="silu", norm="post", sinusoids="halves",
        max_positions=512, pad_id=sizes["vocab_size"] - 1, bos_id=sizes["vocab_size"] - 1, eos_id=0,
    )  # fmt: skip
    config, converted = convert(weights, config)
    model = Transformer(config)
    model.load_state_dict(converted, strict=False)  # what is shared is named once
    model.share_output()
    return model


def _generated(model: Any, given: list[SourceSentence], beam: int, device: str) -> list[list[int]]:
    pad, widest = model.config.pad_token_id, max(len(one.ids) for one in given)
    padded = [[*one.ids, *[pad] * (widest - len(one.ids))] for one in given]
    ids = torch.tensor(padded, device=device)
    rows = model.generate(
        input_ids=ids, attention_mask=ids != pad, num_beams=beam, do_sample=False,
        min_new_tokens=_LENGTH, max_new_tokens=_LENGTH, length_penalty=1.0,
    )  # fmt: skip
    return [row[1:] for row in rows.tolist()]
