"""A saved checkpoint comes back the same; a damaged one is refused with the reason."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import pickle
import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.utils._python_dispatch import TorchDispatchMode

from model import files
from model.backends.selection import Backend
from model.checkpoint import (
    CheckpointError,
    CheckpointInfo,
    StoredWeights,
    add_to_checkpoint,
    describe_again,
    load_checkpoint,
    open_checkpoint,
    save_checkpoint,
)
from model.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.text.languages import every_pair
from model.text.tokenizer_config import TokenizerConfig
from tests.conftest import FullDisk
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


def test_alignment_heads_come_back_from_a_saved_description(
    saved: Path, tiny_config: ModelConfig
) -> None:
    info = dataclasses.replace(info_for(tiny_config), alignment_heads=((0, 3), (1, 0)))
    describe_again(saved, info)
    assert load_checkpoint(saved).info == info
    assert "alignment_heads" in (saved / "config.json").read_text()


@pytest.mark.parametrize(
    "wrong", [None, 3, [0], [[0]], [[0, 4]], [[2, 0]], [[-1, 0]], [[0, True]], [[0, 1], [0, 1]]]
)
def test_alignment_heads_that_the_network_lacks_are_refused(saved: Path, wrong: object) -> None:
    edit_config(saved, lambda raw: raw.update(alignment_heads=wrong))
    said = (
        "alignment_heads must list different [layer, head] pairs, layers 0 to 1 and heads 0 to 3, "
        f"got {wrong!r}"
    )
    with pytest.raises(CheckpointError, match=re.escape(said)):
        load_checkpoint(saved)


def test_the_calibration_of_confidence_comes_back_from_a_saved_description(
    saved: Path, tiny_config: ModelConfig
) -> None:
    calibration = Calibration((0.5,) * 5, (-1.25,) * 6)
    info = dataclasses.replace(info_for(tiny_config), confidence={("zh", "en"): calibration})
    describe_again(saved, info)
    assert load_checkpoint(saved).info == info


_NUMBERS = {"word": [0.5] * 5, "sentence": [0.5] * 6}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (None, "confidence must be a list of tables, got None"),
        ([3], "confidence must be a list of tables, got [3]"),
        ([_NUMBERS], "confidence must have different pairs of the model, got None"),
        ([_NUMBERS | {"pair": ["zh", "xx"]}], "of the model, got ['zh', 'xx']"),
        ([_NUMBERS | {"pair": ["zh", "en"]}] * 2, "of the model, got ['zh', 'en']"),
        ([{"pair": ["zh", "en"]}], "a calibration must have word and sentence, got {}"),
    ],
)
def test_a_calibration_that_is_none_is_refused(saved: Path, wrong: object, said: str) -> None:
    edit_config(saved, lambda raw: raw.update(confidence=wrong))
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


class Arrivals(TorchDispatchMode):
    """Notes the types of the tensors that are copied to a device."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device
        self.dtypes: list[torch.dtype] = []

    def __torch_dispatch__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if function is torch.ops.aten._to_copy.default and args[0].device != out.device:
            assert out.device.type == self._device
            self.dtypes.append(out.dtype)
        return out


def test_weights_reach_the_device_in_the_precision_that_they_are_used_in(saved: Path) -> None:
    """A GPU that has room for float16 may have none for float32."""
    stored = open_checkpoint(saved).model
    with Arrivals("meta") as arrivals:
        stored.on("meta").load(torch.float16)
    assert len(arrivals.dtypes) >= len(stored.weights)
    assert set(arrivals.dtypes) == {torch.float16}


def test_whoever_may_read_the_description_may_read_the_weights(saved: Path) -> None:
    modes = {(saved / name).stat().st_mode for name in ("config.json", "model.safetensors")}
    assert len(modes) == 1


def test_a_model_on_disk_decodes_as_the_loaded_one(saved: Path) -> None:
    stored, loaded = open_checkpoint(saved), load_checkpoint(saved)
    sentences = mixed_sentences(4, seed=1)
    backends: tuple[Backend, ...] = ("native", "eager", "graphs")  # a compiled one runs as graphs
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
    with pytest.raises(CheckpointError, match=f"holds {name!r} as I32; weights must be one of"):
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


def as_directory(name: str) -> Damage:
    def damage(directory: Path) -> None:
        (directory / name).unlink()
        (directory / name).mkdir()

    return damage


def as_fifo(name: str) -> Damage:
    def damage(directory: Path) -> None:
        (directory / name).unlink()
        os.mkfifo(directory / name)

    return damage


def as_dangling_link(name: str) -> Damage:
    def damage(directory: Path) -> None:
        (directory / name).unlink()
        (directory / name).symlink_to(directory / "absent")

    return damage


def as_link_to_itself(name: str) -> Damage:
    def damage(directory: Path) -> None:
        (directory / name).unlink()
        (directory / name).symlink_to(directory / name)

    return damage


def unlist(name: str) -> Damage:
    def damage(directory: Path) -> None:
        path = directory / "SHA256SUMS"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.endswith(f"{name}\n")))

    return damage


NORM = "encoder.0.self_attention_residual.norm.weight"


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
        (write_sums(f"{'0' * 64}  {'x' * 5000}\n"), "line that is not '<sha256>  <file>': '000"),
        (write_sums(f"{'0' * 64}  {'ä' * 150}\n"), "line that is not '<sha256>  <file>': '000"),
        (write_sums(f"{'0' * 64}  a\0b\n"), r"line that is not '<sha256>  <file>': '000.*x00b'"),
        (write_sums(f"{'0' * 64}  ..\n"), r"line that is not '<sha256>  <file>': '000"),
        (write_sums(f"{'0' * 64}  \x1b[2J\n"), r"line that is not '<sha256>  <file>': '000"),
        (write_sums("0  config.json\n" * 2**21), "SHA256SUMS is larger than 16 MiB"),
        (lambda d: (d / "SHA256SUMS").write_bytes(b"\xff"), "SHA256SUMS is not UTF-8: byte 0"),
        (as_directory("config.json"), "cannot read .*config.json: it is not a regular file"),
        (as_directory("SHA256SUMS"), "holds no SHA256SUMS"),
        (as_directory("tiny.model"), "lacks tiny.model, which SHA256SUMS lists: it is no regular"),
        (as_directory("model.safetensors"), "lacks model.safetensors, .*: it is no regular file"),
        (as_fifo("config.json"), "cannot read .*config.json: it is not a regular file"),
        (as_fifo("tiny.model"), "lacks tiny.model, which SHA256SUMS lists: it is no regular file"),
        (as_dangling_link("config.json"), "tiny-checkpoint holds no config.json"),
        (as_dangling_link("model.safetensors"), "lacks model.safetensors, .*: it is no regular"),
        (as_link_to_itself("config.json"), "tiny-checkpoint holds no config.json"),
        (as_link_to_itself("tiny.model"), "cannot read .*tiny.model.*symbolic links"),
        (unlist("tiny.model"), "SHA256SUMS does not list tiny.model, which cannot be verified"),
        (write_config("[" * 100_000), "config.json is not readable JSON: it is nested too deeply"),
        (write_config("9" * 5000), "config.json is not readable JSON: Exceeds the limit"),
        (write_config(" " * 2**24 + "{}"), "config.json is larger than 16 MiB"),
        (change_config("name", value="a\nb"), r"name must be a line of .*, got 'a\\nb'"),
        (change_config("name", value=""), "name must be a line of .*, got ''"),
        (change_config("name", value="x" * 201), "name must be a line of 1 to 200"),
        (change_config("pairs", value=[["en", ""]]), "a language must be a code .*, got ''"),
        (change_config("pairs", value=[["../x", "en"]]), "a language must be a code .*'../x'"),
        (change_config("pairs", value=[["en", "s>"]]), "a language must be a code .*got 's>'"),
        (change_config("pairs", value=["en", "de"]), "languages must be a list of codes, got 'en'"),
        (change_config("pairs", value=[["en"]]), r"a pair must be \[source, target\], got"),
        (
            change_config(
                "pairs",
                value={side: [f"l{i}" for i in range(10**4)] for side in ("sources", "targets")},
            ),
            "pairs must be at most 1000000, got 10000 sources and 10000 targets",
        ),
        (change_config("max_source_tokens", value=10**9), "max_source_tokens must be at most 65"),
        (
            change_config("architecture", "pad_id", value=5),
            "says pad_id 5, which is '<2en>' to the tokenizer; it must be 0",
        ),
        (change_config("architecture", "bos_id", value=3), "says bos_id 3.*; it must be 2"),
        (change_config("architecture", "eos_id", value=2), "says eos_id 2.*; it must be 3"),
        (
            change_config("tokenizer", "source_layout", value=["eos"]),
            "source_layout must have 'text', and no part twice, got",
        ),
        (
            change_config("tokenizer", "target_layout", value=["text"]),
            "target_layout must be empty or .*, got",
        ),
        (
            change_config("tokenizer", "tags", value={"en": "__en__"}),
            "names the tag '__en__', which no vocabulary has",
        ),
        (
            change_weights(lambda w: w.update({NORM: w[NORM].to(torch.int64)})),
            f"holds '{NORM}' as I64; weights must be one of F64, F32, F16, BF16",
        ),
        (
            change_weights(lambda w: w.update({NORM: w[NORM].to(torch.complex64)})),
            f"holds '{NORM}' as C64; weights must be",
        ),
        (
            change_weights(lambda w: w.update({NORM: w[NORM].to(torch.float8_e4m3fn)})),
            f"holds '{NORM}' as F8_E4M3; weights must be",
        ),
        (
            change_weights(lambda w: w[NORM].fill_(float("nan"))),
            f"holds numbers in '{NORM}' that are not finite",
        ),
        (
            change_weights(lambda w: w[NORM][0].fill_(float("inf"))),
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


@pytest.mark.parametrize("name", ["config.json", "SHA256SUMS", "tiny.model", "model.safetensors"])
def test_a_file_that_the_system_does_not_let_be_read_is_named(
    saved: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with another owner's file or a broken disk: root, as whom tests may run, reads all."""
    real_open = Path.open

    def failing_open(path: Path, *args: Any, **kwargs: Any) -> Any:
        if path.name == name:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return real_open(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", failing_open)
    with pytest.raises(CheckpointError, match=f"cannot read .*{name}: Input/output error"):
        load_checkpoint(saved)


def test_a_directory_whose_name_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint at .*: File name too long"):
        load_checkpoint(tmp_path / ("x" * 5000))


@pytest.mark.parametrize(
    "option",
    ["d_model", "d_ff", "n_encoder_layers", "n_decoder_layers", "max_positions"],
)
def test_sizes_that_the_weights_do_not_have_are_refused_before_anything_is_built(
    saved: Path, option: str
) -> None:
    """The largest that the bounds allow: a network of it would take up to a terabyte."""
    most = {"d_model": 16384, "d_ff": 131072, "max_positions": 65536}.get(option, 256)
    edit_config(saved, lambda raw: raw["architecture"].update({option: most}))
    if option == "max_positions":
        assert open_checkpoint(saved).info.architecture.max_positions == most
        return
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


def test_a_disk_that_is_full_at_the_last_moment_leaves_the_self_test_too(
    saved: Path, tiny_config: ModelConfig, tiny_tokenizer_file: Path, monkeypatch: Any
) -> None:
    """Some file systems find out when a file is flushed."""
    add_to_checkpoint(saved, "self_test.json", "[]")
    before = {path.name: path.read_bytes() for path in saved.iterdir()}

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(files, "_flush", full)
    weights = random_model(tiny_config).weights
    for write in (
        lambda: save(saved, random_model(tiny_config), tiny_tokenizer_file),
        lambda: add_to_checkpoint(saved, "self_test.json", "[1]"),
    ):
        with pytest.raises(OSError, match="No space left on device"):
            write()
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    monkeypatch.undo()
    save_checkpoint(saved, info_for(tiny_config), weights, [tiny_tokenizer_file], torch.float32)
    assert not (saved / "self_test.json").exists()
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
