"""A saved checkpoint comes back the same; a damaged one is refused with the reason."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import random
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from model.backends.selection import Backend
from model.checkpoint import (
    CheckpointError,
    CheckpointInfo,
    StoredWeights,
    is_damage,
    open_checkpoint,
    read_complete,
    read_info,
    read_sums,
)
from model.checkpoint.reference import load_checkpoint
from model.checkpoint.saving import describe_again, save_checkpoint
from model.decoding.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.text.languages import every_pair
from model.text.tokenizer_config import TokenizerConfig
from tests.conftest import FullDisk
from tests.fuzz.mutations import mutated
from tests.model.network.reference import run_to_end, tiny_runner
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


def random_model(config: ModelConfig, seed: int = 3) -> Transformer:
    torch.manual_seed(seed)
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


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": "pre", "output_bias": True},
        {"positions": "learned", "shared_embeddings": "none"},
        {"positions": "alibi", "shared_embeddings": "target", "embedding_norm": True},
    ],
)
def test_a_loaded_model_computes_what_the_saved_one_did(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path, options: dict[str, Any]
) -> None:
    model = random_model(dataclasses.replace(tiny_config, **options))
    save(tmp_path / "saved", model, tiny_tokenizer_file)
    loaded = load_checkpoint(tmp_path / "saved").model
    src, tgt = torch.randint(4, 450, (2, 7)), torch.randint(4, 450, (2, 5))
    assert torch.equal(loaded(src, tgt), model(src, tgt))
    assert not loaded.training


def test_every_part_of_a_description_comes_back(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    """Many pairs are written as languages."""
    languages = ["en", "zh", "de", "fr"]
    info = dataclasses.replace(
        info_for(tiny_config),
        pairs=every_pair(languages, languages),
        origin={"source": "someone/model", "revision": "abc"},
        max_source_tokens=28,
        alignment_heads=((0, 3), (1, 0)),
        confidence={("zh", "en"): Calibration((0.5,) * 5, (-1.25,) * 6)},
    )
    weights = random_model(tiny_config).weights
    save_checkpoint(tmp_path / "new", info, weights, [tiny_tokenizer_file], torch.float32)
    assert len(json.loads((tmp_path / "new" / "config.json").read_text())["pairs"]["sources"]) == 4
    read = load_checkpoint(tmp_path / "new").info
    assert set(read.pairs) == set(info.pairs)
    assert dataclasses.replace(read, pairs=info.pairs) == info
    described = dataclasses.replace(info, alignment_heads=((1, 2),))
    describe_again(tmp_path / "new", described)
    assert load_checkpoint(tmp_path / "new").info.alignment_heads == ((1, 2),)


@pytest.mark.parametrize(
    ("said", "wanted", "limit"),
    [(None, None, 64), (16, None, 16), (28, None, 28), (28, 40, 40), (28, 99, 64)],
)
def test_sentences_are_as_long_as_a_user_or_else_the_description_says_and_the_network_can_take(
    saved: Path, said: int | None, wanted: int | None, limit: int
) -> None:
    edit_config(saved, lambda raw: raw.update(max_source_tokens=said))
    info = load_checkpoint(saved).info
    assert info.architecture.max_positions == 64
    assert info.source_limit(wanted) == limit


def test_a_model_on_disk_decodes_as_the_loaded_one(saved: Path) -> None:
    stored, loaded = open_checkpoint(saved), load_checkpoint(saved)
    sentences = mixed_sentences(4, seed=1)
    backends: tuple[Backend, ...] = ("native", "eager", "graphs")
    for backend in backends:
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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_weights_of_every_type_are_read_without_loss(dtype: torch.dtype, tmp_path: Path) -> None:
    weights = {"one": torch.randn(3, 5).to(dtype), "two": torch.tensor([2.0**-30, -1.5]).to(dtype)}
    save_file(weights, tmp_path / "weights")
    found = StoredWeights(tmp_path / "weights")
    for name, weight in weights.items():
        assert found.shapes[name] == weight.shape
        assert torch.equal(torch.from_numpy(found[name].copy()).float(), weight.float())


def flip_a_bit(directory: Path) -> None:
    path = directory / "tiny.model"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(bytes(data))


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


def change_weights(edit: Callable[[dict[str, torch.Tensor]], Any]) -> Damage:
    return lambda directory: edit_weights(directory, edit)


def remove(name: str) -> Damage:
    return lambda directory: (directory / name).unlink()


def write_sums(text: str) -> Damage:
    return lambda directory: (directory / "SHA256SUMS").write_text(text) and None


def in_place_of(name: str, make: Callable[[Path], object]) -> Damage:
    """Something else than a file: a directory, a FIFO."""

    def damage(directory: Path) -> None:
        (directory / name).unlink()
        make(directory / name)

    return damage


def unlist(name: str) -> Damage:
    def damage(directory: Path) -> None:
        path = directory / "SHA256SUMS"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.endswith(f"{name}\n")))

    return damage


NORM = "encoder.0.self_attention_residual.norm.weight"
MATRIX = "decoder.1.feed_forward.expand.weight"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "no checkpoint at .*tiny-checkpoint: the directory does not exist"),
        (remove("config.json"), "tiny-checkpoint holds no config.json"),
        (remove("SHA256SUMS"), "tiny-checkpoint holds no SHA256SUMS"),
        (remove("model.safetensors"), "tiny-checkpoint lacks model.safetensors"),
        (flip_a_bit, "tiny.model does not match SHA256SUMS"),
        (write_sums("0  ../secret\n"), r"line that is not '<sha256>  <file>': '0  ../secret'"),
        (change_config("format", value=9), "format must be 1, got 9"),
        (change_config("tokenizer", "source", value="../x"), "must lie in the directory itself"),
        (
            change_config("tokenizer", "source_vocabulary", value="absent.json"),
            "cannot read the tokenizer's files: .*absent.json",
        ),
        (
            change_config("architecture", "d_ff", value=48),
            r"encoder.0.feed_forward.expand.weight has shape \(32, 16\), expected \(48, 16\)",
        ),
        (
            lambda d: edit_config(
                d, lambda raw: raw["architecture"].update(src_vocab_size=451, tgt_vocab_size=451)
            ),
            r"has \(450, 450\) source and target pieces, config.json says \(451, 451\)",
        ),
        (
            change_config("alignment_heads", value=[[0, 4]]),
            r"different \[layer, head\] pairs, layers 0 to 1 and heads 0 to 3, got \[\[",
        ),
        (change_weights(lambda w: w.update(x=torch.ones(1))), "tensor 'x' is only in the file"),
        (
            in_place_of("tiny.model", Path.mkdir),
            "lacks tiny.model, which SHA256SUMS lists: it is no regular",
        ),
        (
            in_place_of("config.json", os.mkfifo),
            "cannot read .*config.json: it is not a regular file",
        ),
        (unlist("tiny.model"), "SHA256SUMS does not list tiny.model, which cannot be verified"),
        (write_config("[" * 100_000), "config.json is not readable JSON: it is nested too deeply"),
        (write_config(" " * 2**24 + "{}"), "config.json is larger than 16 MiB"),
        (
            change_config(
                "pairs",
                value={side: [f"l{i}" for i in range(10**4)] for side in ("sources", "targets")},
            ),
            "pairs must be at most 1000000, got 10000 sources and 10000 targets",
        ),
        (
            change_config("architecture", "pad_id", value=5),
            "says pad_id 5, which is '<2en>' to the tokenizer; it must be 0",
        ),
        (
            change_config("tokenizer", "tags", value={"en": "__en__"}),
            "names the tag '__en__', which no vocabulary has",
        ),
        (
            change_weights(lambda w: w.update({NORM: w[NORM].to(torch.int64)})),
            f"holds '{NORM}' as I64; weights must be one of F64, F32, F16, BF16, I8",
        ),
        (
            change_weights(lambda w: w.update({MATRIX: w[MATRIX].to(torch.int8)})),
            f"holds '{MATRIX}' of shape .* in I8, which needs .* '{MATRIX}.scales' with a number",
        ),
        (
            change_weights(
                lambda w: w.update(
                    {
                        MATRIX: w[MATRIX].to(torch.int8),
                        f"{MATRIX}.scales": torch.ones(len(w[MATRIX]) + 1),
                    }
                )
            ),
            f"holds '{MATRIX}' of shape .* in I8",
        ),
        (
            change_weights(
                lambda w: w.update(
                    {
                        MATRIX: w[MATRIX].to(torch.int8),
                        f"{MATRIX}.scales": torch.full((len(w[MATRIX]),), float("inf")),
                    }
                )
            ),
            f"holds numbers in '{MATRIX}' that are not finite",
        ),
        (
            change_weights(lambda w: w[NORM].fill_(float("nan"))),
            f"holds numbers in '{NORM}' that are not finite",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused_with_the_reason(
    saved: Path, damage: Damage, said: str
) -> None:
    damage(saved)
    with pytest.raises(CheckpointError, match=said) as raised:
        load_checkpoint(saved)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(("option", "most"), [("d_model", 16384), ("n_encoder_layers", 256)])
def test_sizes_that_the_weights_do_not_have_are_refused_before_anything_is_built(
    saved: Path, option: str, most: int
) -> None:
    """The largest that the bounds allow: a network of it would take up to a terabyte."""
    edit_config(saved, lambda raw: raw["architecture"].update({option: most}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match="model.safetensors does not fit config.json"):
        open_checkpoint(saved)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


@pytest.mark.parametrize("table", ["architecture", "decoding"])
def test_an_option_that_is_missing_is_refused_because_its_default_makes_another_model(
    saved: Path, table: str
) -> None:
    original = json.loads((saved / "config.json").read_text())
    for option in original[table]:
        kept = {name: value for name, value in original[table].items() if name != option}
        edit_config(saved, lambda raw, kept=kept: raw.update({table: kept}))  # type: ignore[misc]
        with pytest.raises(CheckpointError, match=f"does not describe a model: .*{option}"):
            load_checkpoint(saved)


WRONG = [None, True, 0, -1, 1.5, 10**30, float("nan"), "", "x\ny", [], [[1]], {}, {"a": None}]


def _paths(raw: dict[str, Any]) -> list[tuple[str, ...]]:
    """Every field of config.json, and those of its tables."""
    inner = [(k, key) for k, v in raw.items() if isinstance(v, dict) for key in v]
    return [(key,) for key in raw] + inner


def test_every_field_of_a_wrong_type_is_refused_in_one_line(saved: Path) -> None:
    """Or taken, where the value is a right one by chance; never anything but CheckpointError."""
    original = json.loads((saved / "config.json").read_text())
    original |= {"origin": {"source": "x"}, "max_source_tokens": 20, "alignment_heads": [[0, 1]]}
    defaults = TokenizerConfig("", "")
    original["tokenizer"] |= {
        field.name: getattr(defaults, field.name)
        for field in dataclasses.fields(defaults)
        if field.name not in ("source", "target")
    }
    errors = []
    for path in _paths(original):
        for wrong in WRONG:
            raw = json.loads(json.dumps(original))
            table = raw[path[0]] if len(path) == 2 else raw
            table[path[-1]] = wrong
            edit_config(saved, lambda old, raw=raw: (old.clear(), old.update(raw)))
            try:
                open_checkpoint(saved)
            except CheckpointError as error:
                errors.append(str(error))
    assert all(str(saved) in error for error in errors)
    assert {len(error.splitlines()) for error in errors} == {1}
    assert len(errors) > 400


def test_a_full_disk_leaves_the_checkpoint_as_it_was(
    saved: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path, full_disk: FullDisk
) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    weights = random_model(dataclasses.replace(tiny_config, d_ff=64)).weights
    with full_disk(20_000), pytest.raises(OSError, match="File too large"):
        save_checkpoint(saved, info_for(tiny_config), weights, [tiny_tokenizer_file], torch.float32)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    load_checkpoint(saved)


def test_weights_that_float16_cannot_hold_are_not_saved(
    tmp_path: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path
) -> None:
    weights = random_model(tiny_config).weights
    weights[NORM][0] = 1e6
    with pytest.raises(CheckpointError, match=f"'{NORM}' holds numbers .* finite in float16"):
        save_checkpoint(
            tmp_path / "new", info_for(tiny_config), weights, [tiny_tokenizer_file], torch.float16
        )
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("name", ["config.json", "tiny.model", "model.safetensors", "SHA256SUMS"])
def test_random_damage_is_refused_or_leaves_a_model_that_loads(
    saved: Path, name: str, is_signed: bool
) -> None:
    """Where the sums are the old ones, it is the old model."""
    whole, rng = (saved / name).read_bytes(), random.Random(1)
    expected = load_checkpoint(saved)
    num_refused = 0
    for _ in range(25):
        (saved / name).write_bytes(mutated(whole, rng))
        if is_signed and name != "SHA256SUMS":
            sign_again(saved)
        try:
            loaded = load_checkpoint(saved)
        except CheckpointError:
            num_refused += 1
            continue
        if not is_signed:
            assert loaded.info == expected.info
    assert num_refused > 5


class Bomb:
    """Unpickling it leaves a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


def test_a_pickle_in_disguise_is_refused_unopened(saved: Path, tmp_path: Path) -> None:
    torch.save(Bomb(tmp_path / "exploded"), saved / "model.safetensors")
    sign_again(saved)
    with pytest.raises(CheckpointError, match="model.safetensors is not a safetensors file"):
        load_checkpoint(saved)
    assert not (tmp_path / "exploded").exists()


def test_a_checkpoint_that_is_still_copied_is_not_complete(saved: Path, tmp_path: Path) -> None:
    """Whatever file is missing, or cut anywhere."""
    assert read_complete(saved) == read_info(saved)
    chance = random.Random(5)
    for name in ("SHA256SUMS", *sorted(read_sums(saved))):
        size = (saved / name).stat().st_size - (name == "SHA256SUMS")  # without its last line end
        for length in (None, 0, size - 1, *(chance.randrange(size) for _ in range(8))):
            copy = Path(shutil.copytree(saved, tmp_path / "copy", dirs_exist_ok=True))
            if length is None:
                (copy / name).unlink()
            else:
                os.truncate(copy / name, length)
            with pytest.raises(CheckpointError) as raised:
                read_complete(copy)
            assert is_damage(raised.value)


def test_files_that_the_system_cannot_read_are_not_damaged(saved: Path) -> None:
    (saved / "model.safetensors").unlink()
    (saved / "model.safetensors").mkdir()
    with pytest.raises(CheckpointError) as raised:
        StoredWeights(saved / "model.safetensors")
    assert isinstance(raised.value.__cause__, OSError)
    assert not is_damage(raised.value)
    assert not is_damage(MemoryError())
