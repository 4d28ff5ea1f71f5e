"""Marian's own files: what Marian wrote computes as by Marian, in each of its containers and of the
networks that ours has; everything else is refused with one sentence that names it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from numpy.typing import NDArray

from model.checkpoint.reference import load_checkpoint
from model.decoding.options import DecodingOptions
from model.importers.imported import SourceError, Wanted
from model.importers.marian_items import read_items
from model.importers.resolve import import_source, is_foreign, resolve_checkpoint
from model.network.transformer import Transformer
from service.models.pull import Source, pull
from service.models.store import ModelStore
from tests.model.importers.edits import Edit
from tests.model.importers.marian_itself import DATA, our_scores, our_translations
from tests.model.network.reference import tiny_model

Items = dict[str, NDArray[Any]]
BOTH = Wanted(("zh",), ("en",))
PLAIN = {
    "type": "transformer",
    "transformer-heads": 2,
    "transformer-dim-ffn": 32,
    "transformer-ffn-activation": "relu",
    "transformer-postprocess": "dan",
    "transformer-preprocess": "",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-tied-layers": [],
    "input-types": [],
    "dec-cell": "gru",
}
SSRU = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
NETWORKS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"activation": "silu"}, {"transformer-ffn-activation": "swish"}),
    ({"autoregression": "ssru", "n_encoder_layers": 3, "n_decoder_layers": 1}, SSRU),
    ({"embedding_norm": True, "output_bias": False}, {"transformer-postprocess-emb": "dn"}),
    ({"shared_embeddings": "target"}, {}),
    ({"shared_embeddings": "none", "autoregression": "ssru"}, SSRU),
]
"""Changes to `tiny_model`, and to Marian's options."""
PARTS = {"self_attention": "self", "memory_attention": "context", "feed_forward": "ffn"}
LETTERS = {"expand": "1", "contract": "2", "input_proj": "", "forget_proj": "f"}


def random_model(**changes: Any) -> Transformer:
    """One that Marian can hold: the last piece is the start, whose embedding is zero."""
    model = tiny_model(
        vocab_size=13,
        pad_id=12,
        bos_id=12,
        eos_id=0,
        sinusoids="tensor2tensor",
        **changes,
    )
    torch.manual_seed(3)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.add_(torch.randn_like(weight) * 0.1)
            if name.endswith("input_proj.bias"):
                weight.zero_()
        for table in (model.src_embedding.tokens, model.tgt_embedding.tokens, model.output):
            table.weight[12] = 0
    return model


def marian_items(model: Transformer) -> Items:
    """The model's weights by Marian's names, in its layout."""
    items, config = {}, model.config
    for name, weight in model.weights.items():
        array = weight.numpy()
        if "tokens" in name or name.startswith("output"):
            array = array[:-1]
        theirs = marian_name(name, config.shared_embeddings)
        is_table = "Wemb" in theirs or theirs.endswith("Wt")
        items[theirs] = array if is_table else np.atleast_2d(array.T)
        if theirs.endswith("rnn_b"):
            del items[theirs]
    return items


def marian_name(name: str, sharing: str) -> str:
    kind = "scale" if name.endswith("weight") else "bias"
    if "tokens" in name:
        return "Wemb" if sharing == "all" else {"s": "en", "t": "de"}[name[0]] + "coder_Wemb"
    if name.startswith("output"):
        return f"decoder_ff_logit_out_{'Wt' if kind == 'scale' else 'b'}"
    if "embedding.norm" in name:
        return {"s": "en", "t": "de"}[name[0]] + f"coder_emb_ln_{kind}_pre"
    side, layer, part, module, *_ = name.split(".")
    part = PARTS[part.removesuffix("_residual")]
    return f"{side}_l{int(layer) + 1}_" + module_name(part, module, kind)


def module_name(part: str, module: str, kind: str) -> str:
    if module != "norm":
        part = "rnn" if module in ("input_proj", "forget_proj") else part
        return f"{part}_{'Wb'[kind == 'bias']}{LETTERS.get(module, module[0])}"
    place = {"ffn": "ffn_ffn"}.get(part, f"{part}_Wo")
    return f"{place}_ln_{kind}"


def with_norms_of_rnn(items: Items) -> Items:
    """The norm of an SSRU has a name of its own."""
    return {
        name.replace("self_Wo_ln", "rnn_ffn_ln") if name.startswith("decoder") else name: item
        for name, item in items.items()
    }


def options_of(model: Transformer, changes: Mapping[str, Any]) -> NDArray[np.int8]:
    config = model.config
    depths = {"enc-depth": config.n_encoder_layers, "dec-depth": config.n_decoder_layers}
    text = yaml.safe_dump({**PLAIN, "dim-emb": config.d_model, **depths, **changes})
    return np.frombuffer(text.encode() + b"\0", np.int8)


def write_npz(path: Path, items: Items) -> None:
    np.savez(path, **items)


def write_bin(path: Path, items: Items, kind: int = 0x404) -> None:
    """As marian-conv writes them. `kind`: of matrices."""
    parts, heads, names, shapes = [], [], b"", b""
    for name, item in items.items():
        is_matrix = item.ndim == 2 and len(item) > 1
        code = 0x101 if item.ndim == 1 else kind if is_matrix else 0x404
        data = item.tobytes() if code == 0x101 else stored(name, item, code)
        parts.append(data)
        heads.append([len(name) + 1, code, item.ndim, len(data)])
        names += name.encode() + b"\0"
        shapes += np.array(item.shape, "<i4").tobytes()
    start = np.array([1, len(heads)], "<u8").tobytes() + np.array(heads, "<u8").tobytes()
    padding = np.array([56], "<u8").tobytes() + bytes(56)
    path.write_bytes(b"".join([start, names, shapes, padding, *parts]))


def stored(name: str, item: NDArray[Any], code: int) -> bytes:
    if code == 0x404:
        return item.astype("<f4").tobytes()
    multiplier = np.float32(127 / np.abs(item).max())
    codes = np.rint((item if "Wemb" in name else item.T) * multiplier).astype(np.int8)
    return codes.tobytes() + multiplier.tobytes() + bytes(44)


def write_model(directory: Path, model: Transformer, changes: Mapping[str, Any]) -> Items:
    """A directory in Marian's form -> what was written."""
    directory.mkdir()
    items = marian_items(model)
    if model.config.autoregression == "ssru":
        items = with_norms_of_rnn(items)
    items["special:model.yml"] = options_of(model, changes)
    write_npz(directory / "model.npz", items)
    pieces = ["</s>", "<unk>", *"abcdefghij"]
    (directory / "vocab.yml").write_text("".join(f"{p}: {i}\n" for i, p in enumerate(pieces)))
    for side in ("source", "target"):
        shutil.copyfile(DATA / "transformer" / "vocab.spm", directory / f"{side}.spm")
    return items


@pytest.mark.parametrize(("name", "tolerance"), [("ssru", 1e-3), ("transformer", 0.05)])
def test_what_marian_wrote_gives_the_probabilities_and_translations_that_marian_gives(
    name: str, tolerance: float, tmp_path: Path
) -> None:
    """One in float32; one in int8, whose activations Marian had in float32."""
    import_source(str(DATA / name), tmp_path / "ours", None, BOTH)
    ours = load_checkpoint(tmp_path / "ours")
    expected = json.loads((DATA / name / "expected.json").read_text(encoding="utf-8"))
    assert our_scores(ours, expected["pairs"]) == pytest.approx(expected["scores"], rel=tolerance)
    texts = [source for source, _ in expected["pairs"]]
    found = our_translations(ours, texts, 1)
    assert sum(a != b for a, b in zip(found, expected["translations"], strict=True)) <= 1


@pytest.mark.parametrize(("network", "options"), NETWORKS)
def test_every_network_keeps_its_weights(
    network: dict[str, Any], options: dict[str, Any], tmp_path: Path
) -> None:
    model = random_model(**network)
    write_model(tmp_path / "theirs", model, options)
    import_source(str(tmp_path / "theirs"), tmp_path / "ours", None, BOTH)
    ours = load_checkpoint(tmp_path / "ours")
    src, tgt = torch.tensor([[5, 7, 9, 0]]), torch.tensor([[12, 4, 6, 8, 11]])
    with torch.inference_mode():
        found, expected = ours.model(src, tgt), model(src, tgt)
    assert torch.equal(found[..., :12], expected[..., :12])
    assert ours.info.decoding.beam_size == (1 if "autoregression" in network else 4)


@pytest.mark.parametrize("kind", [0x404, 0x10001, 0x4101])
def test_a_bin_holds_the_same_items_as_an_npz(kind: int, tmp_path: Path) -> None:
    """int8 ones with a step of rounding."""
    items = write_model(tmp_path / "theirs", random_model(), {})
    items["Wemb_QuantMultA"] = np.ones((1, 1), np.float32)
    write_bin(tmp_path / "model.bin", items, kind)
    expected = read_items(tmp_path / "theirs" / "model.npz")
    found = read_items(tmp_path / "model.bin")
    assert found.options == expected.options
    assert found.weights.keys() == expected.weights.keys()
    for name, weight in expected.weights.items():
        step = 0.0 if kind == 0x404 or len(weight) == 1 else float(weight.abs().max()) / 253
        assert (found.weights[name] - weight).abs().max() <= step


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_file_is_one_sentence(seed: int, tmp_path: Path) -> None:
    """Cut, or with bytes changed in its headers."""
    rng = np.random.default_rng(seed)
    items = write_model(tmp_path / "theirs", random_model(), {})
    path = tmp_path / "theirs" / "model.npz"
    if seed % 2:
        path = tmp_path / "model.bin"
        write_bin(path, items)
    content = bytearray(path.read_bytes())
    if seed % 3:
        for place in rng.integers(0, 2000, 20):
            content[place] = rng.integers(256)
    else:
        del content[rng.integers(0, len(content)) :]
    path.write_bytes(content)
    said = ""
    try:
        read_items(path)
    except SourceError as error:
        said = str(error)
    assert not said or (str(path) in said and "\n" not in said)


UNSUPPORTED: list[tuple[str, Any, str]] = [
    ("type", "s2s", "type must be transformer, got 's2s'"),
    ("transformer-decoder-autoreg", "average-attention", "must be self-attention or rnn, got 'ave"),
    ("transformer-decoder-autoreg", "rnn", "dec-cell must be ssru, got 'gru'"),
    ("transformer-ffn-activation", "gelu", "must be relu or swish, got 'gelu'"),
    ("transformer-ffn-depth", 3, "transformer-ffn-depth must be 2, got '3'"),
    ("transformer-decoder-dim-ffn", 64, "transformer-decoder-dim-ffn must be 0, got '64'"),
    ("transformer-preprocess", "n", "transformer-preprocess must be '', got 'n'"),
    ("transformer-postprocess", "da", "transformer-postprocess must be 'an', got 'da'"),
    ("transformer-postprocess-top", "n", "transformer-postprocess-top must be '', got 'n'"),
    ("transformer-postprocess-emb", "h", "must be '' or 'n', got 'h'"),
    ("transformer-train-position-embeddings", True, "must be false, got 'true'"),
    ("transformer-attention-mask", "alibi", "transformer-attention-mask must be default, got 'al"),
    ("transformer-tied-layers", [1, 1], "transformer-tied-layers must be [], got ['1', '1']"),
    ("transformer-no-projection", True, "transformer-no-projection must be false, got 'true'"),
    ("right-left", True, "right-left must be false, got 'true'"),
    ("lemma-dependency", "soft-transformer-layer", "lemma-dependency must be empty, got 'soft"),
    ("dim-emb", "wide", "dim-emb must be a whole number, got 'wide'"),
    ("transformer-heads", 3, "d_model must be a multiple of n_heads, got 16 and 3"),
    ("dec-depth", 3, "lacks decoder_l3_self_Wq, which its options ask for"),
    ("dec-depth", 1, "holds decoder_l2_context_Wk, which its options have no place for"),
    ("transformer-dim-ffn", 48, "encoder_l1_ffn_W1 has shape (16, 32), which contradicts its opt"),
]


@pytest.mark.parametrize(("option", "value", "said"), UNSUPPORTED)
def test_an_option_that_our_network_lacks_is_named_with_its_value(
    option: str, value: Any, said: str, tmp_path: Path
) -> None:
    write_model(tmp_path / "theirs", random_model(), {option: value})
    with pytest.raises(SourceError) as refused:
        import_source(str(tmp_path / "theirs"), tmp_path / "ours", None, BOTH)
    assert said in str(refused.value)
    assert not (tmp_path / "ours").exists()


def decoder(**changes: Any) -> Edit:
    """Write decoder.yml."""
    usual = {"models": ["/elsewhere/model.npz"], "vocabs": ["vocab.yml", "vocab.yml"]}
    return write("decoder.yml", yaml.safe_dump({**usual, **changes}))


def write(name: str, text: str) -> Edit:
    return lambda path: (path / name).write_text(text) and None


def remove(*names: str) -> Edit:
    return lambda path: [(path / name).unlink() for name in names] and None


EDITS: list[tuple[Edit, str]] = [
    (decoder(models=["a.npz", "b.npz"]), "lacks 'a.npz', which its decoder settings name"),
    (decoder(models=["model.npz"] * 2), "models must be one model, got model.npz, model.npz"),
    (decoder(vocabs=["vocab.yml"]), "vocabs must be two files, got 1"),
    (decoder(**{"word-penalty": 0.5}), "word-penalty must be 0, got '0.5'"),
    (decoder(**{"beam-size": "wide"}), "beam-size must be a number, got 'wide'"),
    (remove("vocab.yml", "source.spm", "target.spm"), "needs its vocabulary: vocab.spm, srcvocab."),
    (remove("source.spm", "target.spm"), "subword-nmt and Moses tokenisation are not supported"),
    (lambda path: shutil.copyfile(path / "model.npz", path / "b.npz") and None, "b.npz, model.npz"),
    (write("vocab.yml", "a: 0\nb: 2\n"), "0, 1, 2, ... without a"),
    (write("vocab.yml", "[a: b: c"), "is not readable YAML"),
    (write("vocab.yml", "a: 0\nb: 1\n"), "lacks the piece '</s>'"),
]


@pytest.mark.parametrize(("edit", "said"), EDITS)
def test_files_that_do_not_belong_together_are_refused(
    edit: Edit, said: str, tmp_path: Path
) -> None:
    write_model(tmp_path / "theirs", random_model(), {})
    edit(tmp_path / "theirs")
    with pytest.raises(SourceError) as refused:
        import_source(str(tmp_path / "theirs"), tmp_path / "ours", None, BOTH)
    assert said in str(refused.value)


def test_decoder_settings_are_the_checkpoints(tmp_path: Path) -> None:
    write_model(tmp_path / "theirs", random_model(), {})
    decoder(**{"beam-size": 6, "normalize": 0.6})(tmp_path / "theirs")
    import_source(str(tmp_path / "theirs"), tmp_path / "ours", None, BOTH)
    decoding = load_checkpoint(tmp_path / "ours").info.decoding
    assert decoding == DecodingOptions(beam_size=6, length_penalty=0.6)


def test_tags_of_target_languages_are_those_of_the_vocabulary(tmp_path: Path) -> None:
    write_model(tmp_path / "theirs", random_model(), {})
    pieces = ["</s>", "<unk>", ">>cmn_Hans<<", ">>fra<<", *"abcdefgh"]
    lines = "".join(f'"{piece}": {i}\n' for i, piece in enumerate(pieces))
    (tmp_path / "theirs" / "vocab.yml").write_text(lines)
    import_source(str(tmp_path / "theirs"), tmp_path / "ours", None, Wanted(("en",)))
    ours = load_checkpoint(tmp_path / "ours")
    assert ours.info.pairs == (("en", "zh"), ("en", "fr"))
    assert ours.tokenizer.encode_source("", "fr", "en") == [3, 0]


@pytest.mark.parametrize(
    ("directory", "file", "pair"),
    [
        ("opus-en-de", "model.npz", ("en", "de")),
        ("eng-zho", "model.npz", ("en", "zh")),
        ("1", "model.deen.intgemm.alphas.bin", ("de", "en")),
        ("opus-mt-en-de", "model.ende.npz", ("en", "de")),
        ("model", "model.npz", None),
        ("en-be-st", "model.npz.best-bleu.npz", ("be", "st")),
        ("best-model", "model.best.npz", None),
    ],
)
def test_languages_are_read_from_the_names_of_files_and_directories(
    directory: str, file: str, pair: tuple[str, str] | None, tmp_path: Path
) -> None:
    items = write_model(tmp_path / directory, random_model(), {})
    (tmp_path / directory / "model.npz").unlink()
    write_items = write_npz if file.endswith("npz") else write_bin
    write_items(tmp_path / directory / file, items)
    if pair is None:
        with pytest.raises(
            SourceError, match="does not say its languages; name them with --source"
        ):
            import_source(str(tmp_path / directory), tmp_path / "ours", None, Wanted())
    else:
        import_source(str(tmp_path / directory), tmp_path / "ours", None, Wanted())
        assert load_checkpoint(tmp_path / "ours").info.pairs == (pair,)


def test_it_is_served_by_its_directory_and_pulled_from_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = shutil.copytree(DATA / "ssru", tmp_path / "zh-en")
    assert is_foreign(model)
    assert load_checkpoint(resolve_checkpoint(model)).info.pairs == (("zh", "en"),)
    archive = Path(shutil.make_archive(str(tmp_path / "student"), "gztar", tmp_path, "zh-en"))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    pulled = pull(ModelStore(tmp_path / "store"), Source(archive.as_uri(), 2**30, digest))
    assert (pulled.name, pulled.info.pairs) == ("student", (("zh", "en"),))
    assert "Imported" in (pulled.path / "MODEL_CARD.md").read_text()
