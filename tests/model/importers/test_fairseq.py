"""A fairseq archive is read from its weights, its options, its dictionaries and sentencepiece."""

from __future__ import annotations

import argparse
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from model.checkpoint.reference import load_checkpoint
from model.importers.imported import SourceError, Wanted
from model.importers.resolve import import_source
from tests.model.importers.originals import Corpus, Original
from tests.model.test_checkpoint import Bomb

OPTIONS = {
    "arch": "transformer",
    "task": "translation",
    "source_lang": "en",
    "target_lang": "zh",
    **{f"{side}_embed_dim": 32 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_embed_dim": 64 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_normalize_before": True for side in ("encoder", "decoder")},
    **{f"{side}_learned_pos": False for side in ("encoder", "decoder")},
    "activation_fn": "relu",
    "max_source_positions": 128,
    "max_target_positions": 128,
    "no_scale_embedding": False,
}
Save = Callable[[dict[str, Tensor], dict[str, Any]], dict[str, Any]]


def as_args(weights: dict[str, Tensor], options: dict[str, Any]) -> dict[str, Any]:
    """As before fairseq 0.10, with queries, keys and values in one matrix."""
    packed = dict(weights)
    for name in [name for name in weights if ".q_proj." in name]:
        parts = [packed.pop(name.replace("q_proj", f"{letter}_proj")) for letter in "qkv"]
        stem, kind = name.split("q_proj.")
        packed[f"{stem}in_proj_{kind}"] = torch.cat(parts)
    return {"args": argparse.Namespace(**options), "model": packed}


def as_cfg(weights: dict[str, Tensor], options: dict[str, Any]) -> dict[str, Any]:
    task = {key: options[key] for key in ("source_lang", "target_lang")}
    return {"cfg": {"model": argparse.Namespace(**options), "task": task}, "model": weights}


def write(directory: Path, original: Original, corpus: Corpus, save: Save, **changes: Any) -> Path:
    """M2M-100's network is fairseq's: its weights as an archive of one pair."""
    directory.mkdir()
    shutil.copyfile(corpus.joint_model, directory / "sentencepiece.bpe.model")
    vocabulary = original.tokenizer.encoder
    pieces = sorted(vocabulary, key=lambda piece: vocabulary[piece])[4:]
    for language in ("en", "zh"):
        lines = "".join(f"{piece} 1\n" for piece in pieces)
        (directory / f"dict.{language}.txt").write_text(lines, encoding="utf-8")
    weights = {k.removeprefix("model."): v for k, v in original.model.state_dict().items()}
    weights.pop("shared.weight")
    weights["decoder.output_projection.weight"] = weights.pop("lm_head.weight")
    weights["encoder.version"] = torch.tensor([3.0])
    torch.save(save(weights, {**OPTIONS, **changes}), directory / "model.pt")
    return directory


@pytest.fixture
def original(random_originals: dict[str, Original]) -> Original:
    return random_originals["m2m_100"]


@pytest.mark.parametrize("save", [as_args, as_cfg])
@torch.inference_mode()
def test_an_archive_computes_what_the_same_weights_do_elsewhere(
    tmp_path: Path, original: Original, corpus: Corpus, save: Save
) -> None:
    source = write(tmp_path / "archive", original, corpus, save)
    import_source(str(source), tmp_path / "ours", None, Wanted())
    ours = load_checkpoint(tmp_path / "ours")
    assert ours.info.pairs == (("en", "zh"),)
    ids = ours.tokenizer.encode_source("Where is the library?", "zh", "en")
    assert ids == original.tokenizer("Where is the library?").input_ids[1:]
    src, tgt = torch.tensor([ids]), torch.tensor([[2, 7, 9, 11]])
    theirs = original.model(input_ids=src, decoder_input_ids=tgt).logits
    torch.testing.assert_close(ours.model(src, tgt), theirs, atol=1e-4, rtol=0)
    pieces = ours.tokenizer.encode_target_batch(["我们昨天去学校。"])[0]
    assert ours.tokenizer.decode(pieces) == "我们昨天去学校。"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"encoder_layers": 3}, "the weights lack encoder.layers.2.self_attn.q_proj.weight"),
        ({"activation_fn": "gelu_fast"}, "activation_fn must be one of .* got 'gelu_fast'"),
        ({"no_cross_attention": True}, "the option no_cross_attention is not supported"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, original: Original, corpus: Corpus, changes: dict[str, Any], said: str
) -> None:
    source = write(tmp_path / "archive", original, corpus, as_args, **changes)
    with pytest.raises(SourceError, match=said):
        import_source(str(source), tmp_path / "ours", None, Wanted())
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


@pytest.mark.parametrize("save", [torch.save, lambda o, p: p.write_bytes(pickle.dumps(o, 2))])
def test_a_pickle_that_would_run_something_is_refused_unopened(
    tmp_path: Path, save: Callable[[Any, Path], Any]
) -> None:
    save({"model": {}, "args": Bomb(tmp_path / "exploded")}, tmp_path / "model.pt")
    with pytest.raises(SourceError, match="holds more than weights, or no weights"):
        import_source(str(tmp_path / "model.pt"), tmp_path / "ours", None, Wanted())
    assert not (tmp_path / "exploded").exists()


def test_a_damaged_archive_is_refused_in_one_line(
    tmp_path: Path, original: Original, corpus: Corpus
) -> None:
    """Whatever a flipped or missing part makes the reader stumble over."""
    archive = write(tmp_path / "archive", original, corpus, as_args) / "model.pt"
    whole = archive.read_bytes()
    rng = random.Random(1)
    damaged = [whole[: len(whole) * part // 10] for part in range(10)]
    head, tail = range(2000), range(len(whole) - 4000, len(whole))
    for place in [*rng.sample(head, 30), *rng.sample(tail, 30)]:
        damaged.append(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    errors = []
    for content in damaged:
        archive.write_bytes(content)
        try:
            import_source(str(archive), tmp_path / "ours", None, Wanted())
            shutil.rmtree(tmp_path / "ours")
        except SourceError as error:
            errors.append(str(error))
    assert len(errors) > 20
    assert all("model.pt" in error or "archive" in error for error in errors)
    assert {len(error.splitlines()) for error in errors} == {1}
