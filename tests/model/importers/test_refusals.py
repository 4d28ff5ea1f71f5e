"""What cannot be imported is refused with one sentence, and nothing is left behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from model.checkpoint.reference import load_checkpoint
from model.importers.imported import SourceError, Wanted
from model.importers.resolve import import_source
from model.text.spans import NOWHERE
from service.commands.group import dragoman
from tests.conftest import FullDisk
from tests.model.importers.edits import Edit, change


def remove(*names: str) -> Edit:
    return lambda directory: [(directory / name).unlink() for name in names] and None


def overwrite(name: str, content: bytes) -> Edit:
    return lambda directory: (directory / name).write_bytes(content) and None


def drop_from_vocabulary(directory: Path) -> None:
    path = directory / "vocab.json"
    pieces = json.loads(path.read_text())
    del pieces[next(iter(pieces))]
    path.write_text(json.dumps(pieces))


def round_embeddings(directory: Path) -> None:
    path = directory / "model.safetensors"
    weights = load_file(path)
    save_file({**weights, "model.shared.weight": weights["model.shared.weight"].int()}, path)


def shards(weight_map: Any) -> Edit:
    def edit(directory: Path) -> None:
        (directory / "model.safetensors").unlink()
        index = directory / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": weight_map}))

    return edit


def as_mbart_25(directory: Path) -> None:
    """Half of the languages, and no tokenizer's class."""
    (directory / "tokenizer_config.json").unlink()
    path = directory / "special_tokens_map.json"
    codes = json.loads(path.read_text())["additional_special_tokens"]
    path.write_text(json.dumps({"additional_special_tokens": codes[:25]}))


CONFIG, TOKENIZER = "config.json", "tokenizer_config.json"
GENERATION = "generation_config.json"
TASKS = {f"translation_{code}_to_fr": {"prefix": f"{code}: "} for code in ("en", "de")}
CASES: list[tuple[str, Edit, str]] = [
    (
        "marian",
        change(CONFIG, model_type="gpt2"),
        "holds a 'gpt2' model, .*; supported: marian, m2m",
    ),
    ("marian", overwrite(CONFIG, b"{oops"), "config.json is not readable JSON"),
    ("marian", overwrite("model.safetensors", b"junk"), "is not a safetensors file"),
    ("marian", remove("source.spm"), "lacks source.spm, which this family of models needs"),
    ("marian", drop_from_vocabulary, "vocab.json must number its pieces 0, 1, 2, ..."),
    ("marian", change(CONFIG, decoder_layers=3), "lack decoder.layers.2.self_attn.q_proj"),
    ("marian", change(CONFIG, eos_token_id=5), "eos_token_id must be .*, the id of '</s>' .*got 5"),
    ("marian", change(GENERATION, decoder_start_token_id=7), "says bos_id 7, which is .*must be"),
    ("marian", round_embeddings, "hold 'shared.weight' as int32 of shape .* floating-point num"),
    ("marian", shards({"a": "../../secret"}), "weight_map must name files of the same directory"),
    (
        "nllb",
        change(TOKENIZER, added_tokens_decoder={"x": {}}),
        "added_tokens_decoder must map ids to tokens, got",
    ),
    ("marian", change(TOKENIZER, source_lang="roa"), "source_lang is 'roa'; name it with --source"),
    (
        "nllb",
        change(TOKENIZER, additional_special_tokens=[], added_tokens_decoder={}),
        "names no languages: neither special_tokens_map.json nor tokenizer_config.json has",
    ),
    ("mbart", change(TOKENIZER, tokenizer_class="MBartTokenizer"), "only mBART-50 is supported"),
    ("t5", change(CONFIG, model_type="umt5"), "an 'umt5' model, each layer of .* supported .* t5"),
    ("t5", change(CONFIG, task_specific_params=None), "does not say its languages: .*'<2de>', and"),
    (
        "t5",
        change(CONFIG, task_specific_params={"translation_en_to_de": 1}),
        "with a prefix, got 1",
    ),
    (
        "t5",
        change(CONFIG, task_specific_params=TASKS),
        "a prefix for each source of fr; choose one",
    ),
    ("t5", change(CONFIG, layer_norm_epsilon=1e-5), "layer_norm_epsilon must be 1e-06, got 1e-05"),
    ("t5", change(CONFIG, feed_forward_proj="gated-tanh"), "after 'gated-', got 'gated-tanh'"),
    ("t5", change(CONFIG, feed_forward_proj="gated-relu"), "lack encoder.block.0.layer.1.DenseRe"),
    ("madlad", change(CONFIG, d_kv=8), "SelfAttention.q.weight has shape .*48, 32.*expected .*32"),
    ("madlad", change(CONFIG, num_decoder_layers=1), "hold decoder.block.1.layer.0.SelfAttention"),
    ("mbart", as_mbart_25, "is written for 'mBART-25'; of mBART only mBART-50 is supported"),
]


@pytest.mark.parametrize(("family", "edit", "said"), CASES)
def test_a_model_that_does_not_fit_is_refused_with_the_reason(
    tmp_path: Path, untrained: dict[str, Path], family: str, edit: Edit, said: str
) -> None:
    source = Path(shutil.copytree(untrained[family], tmp_path / "source"))
    edit(source)
    with pytest.raises(SourceError, match=said) as raised:
        import_source(str(source), tmp_path / "ours", None, Wanted())
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
    assert str(source) in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_full_disk_is_said_and_nothing_is_left_behind(
    tmp_path: Path, untrained: dict[str, Path], full_disk: FullDisk
) -> None:
    source = untrained["marian"]
    with full_disk(1000), pytest.raises(SourceError, match="cannot be imported: .*File too large"):
        import_source(str(source), tmp_path / "ours", None, Wanted())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(("xx",)), "language 'xx' is not supported; supported: ace-Arab, ace, ar, en, zh"),
        (Wanted(("en",), ("en",)), "no language pair is left"),
    ],
)
def test_languages_that_the_model_lacks_are_refused(
    tmp_path: Path, untrained: dict[str, Path], wanted: Wanted, said: str
) -> None:
    with pytest.raises(SourceError, match=said):
        import_source(str(untrained["nllb"]), tmp_path / "ours", None, wanted)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/absent/model", "ours"], "neither a file or directory here nor a Hub id (owner/model)"),
        ([".", "ours"], "nor a model of Marian; supported: marian"),
        ([".", "."], "exists already; remove it or name another directory"),
    ],
)
def test_the_command_says_it_in_one_line_with_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(dragoman, ["import", *arguments])
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert said in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_t5_of_several_tasks_has_their_pairs_and_no_others(
    tmp_path: Path, untrained: dict[str, Path]
) -> None:
    source = Path(shutil.copytree(untrained["t5"], tmp_path / "source"))
    tasks = {"translation_en_to_de": {"prefix": "to German: "}, "translation_de_to_en": {}}
    change(CONFIG, task_specific_params={**tasks, **TASKS})(source)
    import_source(str(source), tmp_path / "ours", None, Wanted(("en",)))
    info = load_checkpoint(tmp_path / "ours").info
    assert info.pairs == (("en", "de"), ("en", "fr"))
    assert info.tokenizer.prefixes == {"de": "to German: ", "fr": "en: "}


def test_a_tag_in_a_text_chooses_no_language(tmp_path: Path, untrained: dict[str, Path]) -> None:
    """MADLAD's sentencepiece makes the tag of it wherever it stands."""
    import_source(str(untrained["madlad"]), tmp_path / "ours", None, Wanted())
    checkpoint = load_checkpoint(tmp_path / "ours")
    assert checkpoint.info.languages.codes == ("en", "zh", "zh-Hant")
    tokenizer = checkpoint.tokenizer
    tags = {i for i, piece in enumerate(tokenizer.source_pieces) if piece.startswith("<2")}
    ids = tokenizer.encode_source("see <2zh> and <2translate>", "en", "zh")
    assert tokenizer.source_tokens(ids)[:2] == ["▁", "<2en>"]
    assert tags.isdisjoint(ids[2:])
    assert tags <= set(tokenizer.control_ids())
    spans = tokenizer.source_spans("see <2zh> and", "en", "zh")
    assert spans[:2] == [NOWHERE] * 2
    assert {text for span in spans if (text := "see <2zh> and"[slice(*span)])} >= {"<2zh>"}


def test_weights_that_only_bfloat16_holds_are_stored_so(
    tmp_path: Path, untrained: dict[str, Path]
) -> None:
    source = Path(shutil.copytree(untrained["madlad"], tmp_path / "source"))
    weights = load_file(source / "model.safetensors")
    weights = {name: weight.bfloat16() for name, weight in weights.items()}
    weights["shared.weight"][5] *= 1e30
    save_file(weights, source / "model.safetensors")
    import_source(str(source), tmp_path / "ours", None, Wanted())
    stored = load_file(tmp_path / "ours" / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.bfloat16}
    assert torch.equal(stored["src_embedding.tokens.weight"], weights["shared.weight"])
    assert "tgt_embedding.tokens.weight" not in stored


def test_languages_that_are_wanted_are_the_pairs_that_are_left(
    tmp_path: Path, untrained: dict[str, Path]
) -> None:
    wanted = Wanted(("eng_Latn", "zul"), ("zh-TW", "en"))
    import_source(str(untrained["nllb"]), tmp_path / "ours", None, wanted)
    pairs = load_checkpoint(tmp_path / "ours").info.pairs
    assert pairs == (("en", "zh-Hant"), ("zu", "zh-Hant"), ("zu", "en"))


@pytest.mark.parametrize("is_pickled", [True, False])
def test_weights_that_float16_holds_are_stored_so_also_if_pickled_or_in_several_files(
    tmp_path: Path, untrained: dict[str, Path], is_pickled: bool
) -> None:
    source = Path(shutil.copytree(untrained["marian"], tmp_path / "source"))
    weights = load_file(source / "model.safetensors")
    weights = {name: weight.half() for name, weight in weights.items()}
    (source / "model.safetensors").unlink()
    if is_pickled:
        torch.save(weights, source / "pytorch_model.bin")
    else:
        files = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
        for file, part in zip(files, (0, 1), strict=True):
            names = list(weights)[part::2]
            save_file({name: weights[name].float() for name in names}, source / file)
        shards = {name: files[i % 2] for i, name in enumerate(weights)}
        index = json.dumps({"weight_map": shards})
        (source / "model.safetensors.index.json").write_text(index)
    import_source(str(source), tmp_path / "ours", None, Wanted())
    stored = load_file(tmp_path / "ours" / "model.safetensors")
    assert torch.equal(stored["src_embedding.tokens.weight"], weights["model.shared.weight"])
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}


PLAIN = change(TOKENIZER, tokenizer_class=None, name_or_path=None)


@pytest.mark.parametrize(
    ("edit", "is_small"),
    [
        (PLAIN, False),
        (change(TOKENIZER, tokenizer_class="M2M100Tokenizer"), False),
        (change(TOKENIZER, tokenizer_class="SMALL100Tokenizer"), True),
        (change(CONFIG, _name_or_path="/checkpoints/fairseq/hf_small100"), True),
        (change(TOKENIZER, name_or_path="alirezamsh/small100"), True),
        (overwrite("tokenization_small100.py", b""), True),
    ],
)
def test_small_100_is_told_from_m2m_100(
    tmp_path: Path, untrained: dict[str, Path], edit: Edit, is_small: bool
) -> None:
    """Its tags are the targets' and stand on the source."""
    source = Path(shutil.copytree(untrained["m2m_100"], tmp_path / "source"))
    edit(source)
    import_source(str(source), tmp_path / "ours", None, Wanted())
    config = load_checkpoint(tmp_path / "ours").info.tokenizer
    assert config.source_layout[0] == ("target_tag" if is_small else "source_tag")
    assert config.target_layout == (() if is_small else ("target_tag",))


def test_layers_of_small_100_without_a_tokenizers_name_are_not_guessed_about(
    tmp_path: Path, untrained: dict[str, Path]
) -> None:
    source = Path(shutil.copytree(untrained["m2m_100"], tmp_path / "source"))
    PLAIN(source)
    change(CONFIG, encoder_layers=12, decoder_layers=3)(source)
    with pytest.raises(SourceError, match="may be SMaLL-100, .* must be 'SMALL100Tokenizer' or"):
        import_source(str(source), tmp_path / "ours", None, Wanted())
