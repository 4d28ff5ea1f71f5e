"""A saved checkpoint comes back the same; a damaged one is refused with the reason."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from safetensors.torch import load_file, save_file

from model.checkpoint import (
    CheckpointError,
    CheckpointInfo,
    StoredWeights,
    load_checkpoint,
    open_checkpoint,
    save_checkpoint,
)
from model.config import ModelConfig
from model.languages import every_pair
from model.options import DecodingOptions
from model.placement import Backend
from model.tokenizer import TokenizerConfig
from model.transformer import Transformer, initialise
from tests.model.reference import run_to_end, tiny_runner
from tests.model.test_runner import mixed_sentences, texts

Damage = Callable[[Path], None]


def info_for(config: ModelConfig) -> CheckpointInfo:
    return CheckpointInfo(
        name="tiny",
        architecture=config,
        pairs=(("zh", "en"), ("en", "zh")),
        tokenizer=TokenizerConfig("tiny.model", "tiny.model"),
        decoding=DecodingOptions(beam_size=2, length_penalty=0.6),
    )


def random_model(config: ModelConfig) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(config)
    initialise(model, "xavier")
    return model.eval()


def save(directory: Path, model: Transformer, tokenizer: Path) -> None:
    weights = model.weights
    save_checkpoint(directory, info_for(model.config), weights, [tokenizer], torch.float32)


@pytest.fixture
def saved(tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path) -> Path:
    directory = tmp_path / "tiny-checkpoint"
    save(directory, random_model(tiny_config), tiny_tokenizer_file)
    return directory


def sign_again(directory: Path) -> None:
    """Make SHA256SUMS true of the files as they are now."""
    lines = (directory / "SHA256SUMS").read_text().splitlines()
    names = [line.split("  ")[1] for line in lines]
    sums = [hashlib.sha256((directory / name).read_bytes()).hexdigest() for name in names]
    text = "".join(f"{s}  {name}\n" for s, name in zip(sums, names, strict=True))
    (directory / "SHA256SUMS").write_text(text)


def edit_config(directory: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    path = directory / "config.json"
    raw = json.loads(path.read_text())
    edit(raw)
    path.write_text(json.dumps(raw))
    sign_again(directory)


def edit_weights(directory: Path, edit: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    path = directory / "model.safetensors"
    weights = load_file(path)
    edit(weights)
    save_file(weights, path)
    sign_again(directory)


@pytest.mark.parametrize("shared", ["all", "target", "none"])
def test_a_loaded_model_computes_what_the_saved_one_did(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path, shared: Any
) -> None:
    model = random_model(dataclasses.replace(tiny_config, shared_embeddings=shared))
    save(tmp_path / "saved", model, tiny_tokenizer_file)
    loaded = load_checkpoint(tmp_path / "saved").model
    src, tgt = torch.randint(4, 450, (2, 7)), torch.randint(4, 450, (2, 5))
    assert torch.equal(loaded(src, tgt), model(src, tgt))
    assert not loaded.training


def test_many_pairs_are_written_as_languages_and_come_back(
    saved: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    pairs = every_pair(["en", "zh", "de", "fr"], ["en", "zh", "de", "fr"])
    origin = {"source": "someone/model", "revision": "abc"}
    info = dataclasses.replace(info_for(tiny_config), pairs=pairs, origin=origin)
    weights = random_model(tiny_config).weights
    save_checkpoint(saved, info, weights, [tiny_tokenizer_file], torch.float32)
    raw = json.loads((saved / "config.json").read_text())
    assert raw["pairs"] == {
        "sources": ["en", "zh", "de", "fr"],
        "targets": ["zh", "de", "fr", "en"],
    }
    read = load_checkpoint(saved).info
    assert set(read.pairs) == set(pairs)
    assert read.origin == origin


def test_a_loaded_description_is_the_saved_one(saved: Path, tiny_config: ModelConfig) -> None:
    assert load_checkpoint(saved).info == info_for(tiny_config)


@pytest.mark.parametrize(
    ("said", "wanted", "limit"),
    [(None, None, 64), (28, None, 28), (100, None, 64), (28, 40, 40), (28, 20, 20), (28, 99, 64)],
)
def test_sentences_are_as_long_as_a_user_or_else_the_description_says_and_the_network_can_take(
    saved: Path, said: int | None, wanted: int | None, limit: int
) -> None:
    edit_config(saved, lambda raw: raw.update(max_source_tokens=said))
    info = load_checkpoint(saved).info
    assert info.architecture.max_positions == 64
    assert info.source_limit(wanted) == limit


def test_without_a_word_of_anybody_a_sentence_has_128_tokens(tiny_config: ModelConfig) -> None:
    info = info_for(dataclasses.replace(tiny_config, max_positions=512))
    assert (info.source_limit(None), info.source_limit(500)) == (128, 500)


def test_the_longest_sentence_comes_back_from_a_saved_description(
    saved: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    info = dataclasses.replace(info_for(tiny_config), max_source_tokens=28)
    weights = random_model(tiny_config).weights
    save_checkpoint(saved, info, weights, [tiny_tokenizer_file], torch.float32)
    assert load_checkpoint(saved).info == info


@pytest.mark.parametrize("wrong", [15, -1, 0, 28.0, "28", True])
def test_a_longest_sentence_that_is_none_is_refused(saved: Path, wrong: object) -> None:
    edit_config(saved, lambda raw: raw.update(max_source_tokens=wrong))
    said = f"max_source_tokens must be an integer of at least 16, got {wrong!r}"
    with pytest.raises(CheckpointError, match=re.escape(said)):
        load_checkpoint(saved)


def test_weights_stored_in_float16_load_as_float32(
    saved: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    weights = random_model(tiny_config).weights
    save_checkpoint(saved, info_for(tiny_config), weights, [tiny_tokenizer_file], torch.float16)
    loaded = load_checkpoint(saved).model.weights
    for name, weight in weights.items():
        assert torch.equal(loaded[name], weight.half().float())


def test_whoever_may_read_the_description_may_read_the_weights(saved: Path) -> None:
    modes = {(saved / name).stat().st_mode for name in ("config.json", "model.safetensors")}
    assert len(modes) == 1


def test_a_model_on_disk_decodes_as_the_loaded_one(saved: Path) -> None:
    stored, loaded = open_checkpoint(saved), load_checkpoint(saved)
    sentences = mixed_sentences(4, seed=1)
    for backend in get_args(Backend):
        found = run_to_end(tiny_runner(stored.model, backend=backend), sentences)
        expected = run_to_end(tiny_runner(loaded.model, backend=backend), sentences)
        assert texts(found) == texts(expected)


def test_a_file_that_was_replaced_since_is_not_read(
    saved: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    """The compiled code trusts the shapes."""
    stored = open_checkpoint(saved)
    wider = dataclasses.replace(tiny_config, d_ff=2 * tiny_config.d_ff)
    weights = random_model(wider).weights
    save_checkpoint(saved, info_for(wider), weights, [tiny_tokenizer_file], torch.float32)
    with pytest.raises(CheckpointError, match="has changed"):
        tiny_runner(stored.model)


def test_a_file_that_is_gone_or_no_longer_whole_is_said_when_it_is_read(
    saved: Path,
) -> None:
    path = saved / "model.safetensors"
    model = open_checkpoint(saved).model
    path.write_bytes(path.read_bytes()[:-1])
    name = next(iter(model.weights))
    with pytest.raises(CheckpointError, match=f"cannot read {name} of .*safetensors: "):
        model.weights[name]
    path.unlink()
    with pytest.raises(CheckpointError, match=r"cannot read .*No such file"):
        model.load()


def test_weights_of_whole_numbers_are_refused(saved: Path) -> None:
    path = saved / "model.safetensors"
    weights = load_file(path)
    name = next(iter(weights))
    save_file({**weights, name: weights[name].to(torch.int32)}, path)
    with pytest.raises(CheckpointError, match=f"{name} holds I32, expected floating point"):
        StoredWeights(path)


def test_the_sums_are_those_of_sha256sum(saved: Path) -> None:
    files = ["config.json", "model.safetensors", "tiny.model"]
    sums = [hashlib.sha256((saved / name).read_bytes()).hexdigest() for name in files]
    expected = "".join(f"{s}  {name}\n" for s, name in zip(sums, files, strict=True))
    assert (saved / "SHA256SUMS").read_text() == expected


def truncate_weights(directory: Path) -> None:
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def truncate_weights_and_sign(directory: Path) -> None:
    truncate_weights(directory)
    sign_again(directory)


def flip_a_bit(directory: Path) -> None:
    path = directory / "tiny.model"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(bytes(data))


def spoil_tokenizer(directory: Path) -> None:
    (directory / "tiny.model").write_bytes(b"no sentencepiece model")
    sign_again(directory)


def write_config(text: str) -> Damage:
    def damage(directory: Path) -> None:
        (directory / "config.json").write_text(text)
        sign_again(directory)

    return damage


def change_config(*path: str, value: Any) -> Damage:
    def edit(raw: dict[str, Any]) -> None:
        for key in path[:-1]:
            raw = raw[key]
        raw[path[-1]] = value

    return lambda directory: edit_config(directory, edit)


def drop_from_config(key: str) -> Damage:
    return lambda directory: edit_config(directory, lambda raw: raw.pop(key))


def change_weights(edit: Callable[[dict[str, torch.Tensor]], Any]) -> Damage:
    return lambda directory: edit_weights(directory, edit)


def remove(name: str) -> Damage:
    return lambda directory: (directory / name).unlink()


def write_sums(text: str) -> Damage:
    return lambda directory: (directory / "SHA256SUMS").write_text(text) and None


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "no checkpoint at .*tiny-checkpoint: the directory does not exist"),
        (remove("config.json"), "tiny-checkpoint holds no config.json"),
        (remove("SHA256SUMS"), "tiny-checkpoint holds no SHA256SUMS"),
        (remove("model.safetensors"), "tiny-checkpoint lacks model.safetensors"),
        (remove("tiny.model"), "tiny-checkpoint lacks tiny.model"),
        (truncate_weights, "model.safetensors does not match SHA256SUMS: the file is truncated"),
        (flip_a_bit, "tiny.model does not match SHA256SUMS"),
        (write_sums("../secret\n"), r"line that is not '<sha256>  <file>': '../secret'"),
        (write_sums("0  ../secret\n"), r"line that is not '<sha256>  <file>': '0  ../secret'"),
        (write_sums(""), "SHA256SUMS does not list config.json"),
        (truncate_weights_and_sign, "model.safetensors is not a safetensors file"),
        (spoil_tokenizer, "cannot read the sentencepiece model .*tiny.model"),
        (write_config("{oops"), "config.json is not readable JSON"),
        (write_config("[]"), "config.json does not describe a model: it must .*, got list"),
        (drop_from_config("pairs"), "config.json does not describe a model: it lacks 'pairs'"),
        (change_config("pairs", value=[]), "pairs must name at least one"),
        (change_config("format", value=9), "format must be 1, got 9"),
        (change_config("architecture", "rope", value=1), "unknown architecture option 'rope'"),
        (change_config("architecture", "n_heads", value=0), "n_heads must be at least 1, got 0"),
        (change_config("decoding", "beams", value=1), "unknown decoding option 'beams'"),
        (change_config("decoding", "top_p", value=2), "top_p must be a number from 0.0 to 1.0"),
        (change_config("tokenizer", "source", value="../x"), "must lie in the directory itself"),
        (change_config("tokenizer", "source", value="x.model"), "sentencepiece model .*x.model"),
        (change_config("tokenizer", "rule", value=1), "unknown tokenizer option 'rule'; known"),
        (change_config("tokenizer", "source", value=3), "must lie in the directory itself, got 3"),
        (
            change_config("tokenizer", "normalization", value="nfkd"),
            r"normalization must be one of \['nfc', 'none'\], got 'nfkd'",
        ),
        (
            change_config("tokenizer", "source_layout", value=["text", "end"]),
            r"a layout is a list of \['source_tag', .*, got \('text', 'end'\)",
        ),
        (change_config("tokenizer", "tags", value=["<2zh>"]), "tags must map languages to pieces"),
        (
            change_config("tokenizer", "source_vocabulary", value="absent.json"),
            "cannot read the tokenizer's files: .*absent.json",
        ),
        (
            change_config("architecture", "d_ff", value=48),
            r"encoder.0.feed_forward.expand.weight has shape \(32, 16\), expected \(48, 16\)",
        ),
        (
            change_config("architecture", "output_bias", value=True),
            "tensor 'output.bias' is only in the architecture",
        ),
        (change_weights(lambda w: w.update(x=torch.ones(1))), "tensor 'x' is only in the file"),
    ],
)
def test_a_damaged_checkpoint_is_refused_with_the_reason(
    saved: Path, damage: Damage, said: str
) -> None:
    damage(saved)
    with pytest.raises(CheckpointError, match=said):
        load_checkpoint(saved)


def test_a_tokenizer_of_another_size_is_refused(
    saved: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    larger = dataclasses.replace(tiny_config, src_vocab_size=451, tgt_vocab_size=451)
    save(saved, random_model(larger), tiny_tokenizer_file)
    said = r"the tokenizer has \(450, 450\) source and target pieces, config.json says \(451, 451\)"
    with pytest.raises(CheckpointError, match=said):
        load_checkpoint(saved)


class Bomb:
    """Unpickling it leaves a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize(
    "write", [torch.save, lambda bomb, path: path.write_bytes(pickle.dumps(bomb))]
)
def test_a_pickle_in_disguise_is_refused_unopened(
    saved: Path, tmp_path: Path, write: Callable[[Any, Path], Any]
) -> None:
    write(Bomb(tmp_path / "exploded"), saved / "model.safetensors")
    sign_again(saved)
    with pytest.raises(CheckpointError, match="model.safetensors is not a safetensors file"):
        load_checkpoint(saved)
    assert not (tmp_path / "exploded").exists()
