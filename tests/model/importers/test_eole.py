"""A model that eole wrote computes and translates here as it does there (tests/data/eole)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.exporters.tokenizers import ExportError, write_marian_tokenizer
from model.importers.imported import SourceError, Wanted
from model.importers.resolve import import_source, is_foreign
from model.offline import translate_all
from model.runner import Runner
from tests.model.importers.edits import Edit, change

ORIGINAL = Path(__file__).parents[2] / "data" / "eole"
EXPECTED: list[dict[str, Any]] = json.loads((ORIGINAL / "expected.json").read_text("utf-8"))
WEIGHTS = "model.00.safetensors"
PAIR = Wanted(("en",), ("zh",))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    directory = tmp_path_factory.mktemp("eole") / "ours"
    import_source(str(ORIGINAL), directory, None, PAIR)
    return load_checkpoint(directory)


def texts(ours: Checkpoint, beam_size: int) -> list[str]:
    runner = Runner(
        ours.model,
        ours.tokenizer.control_ids(),
        max_slots=20,
        max_rows=80,
        max_source_tokens=64,
        max_target_tokens=64,
    )
    options = DecodingOptions(beam_size=beam_size, max_length=40, lookahead=None)
    sources = [SourceSentence(sentence["source_ids"], options) for sentence in EXPECTED]
    results = translate_all(runner, sources)
    return [ours.tokenizer.decode(result.hypotheses[0].ids).strip() for result in results]


@torch.inference_mode()
def test_ids_and_log_probabilities_are_eoles(ours: Checkpoint) -> None:
    start = ours.info.architecture.bos_id
    for sentence in EXPECTED:
        assert ours.tokenizer.encode_source(sentence["text"], "zh", "en") == sentence["source_ids"]
        ids = sentence["target_ids"]
        logits = ours.model(
            torch.tensor([sentence["source_ids"]]), torch.tensor([[start, *ids[:-1]]])
        )
        found = logits[0].log_softmax(-1)[range(len(ids)), ids]
        assert (found - torch.tensor(sentence["log_probs"])).abs().max() < 1e-4


def test_translations_are_eoles(ours: Checkpoint) -> None:
    """eole counts the start for the mean of a hypothesis, so that its best may be our second."""
    assert texts(ours, 1) == [sentence["translation"].strip() for sentence in EXPECTED]
    for text, sentence in zip(texts(ours, 4), EXPECTED, strict=True):
        assert text in [best.strip() for best in sentence["best"]]


@pytest.mark.parametrize("folder", ["", "eole-model", "eole_model"])
def test_a_name_tells_the_languages_and_a_folder_may_hold_the_model(
    tmp_path: Path, folder: str
) -> None:
    """QuickMT's repositories hold a conversion for CTranslate2, and eole's model in a folder."""
    source = tmp_path / "quickmt-zh-en"
    shutil.copytree(ORIGINAL, source / folder)
    if folder:
        (source / "config.json").write_text('{"add_source_eos": false}')
        (source / "model.bin").write_bytes(b"")
    assert is_foreign(source)
    import_source(str(source), tmp_path / "ours", None, Wanted())
    assert load_checkpoint(tmp_path / "ours").info.pairs == (("zh", "en"),)


def options(**values: Any) -> Edit:
    """Set options of the encoder and the decoder."""

    def edit(directory: Path) -> None:
        path = directory / "config.json"
        config = json.loads(path.read_text())
        for side in ("encoder", "decoder"):
            config["model"][side] |= values
        path.write_text(json.dumps(config))

    return edit


def add_weight(directory: Path) -> None:
    weights = load_file(directory / WEIGHTS)
    save_file({**weights, "estimator.weight": torch.zeros(1, 16)}, directory / WEIGHTS)


def narrow_keys(directory: Path) -> None:
    """As with `heads_kv`."""
    weights = load_file(directory / WEIGHTS)
    name = "encoder.transformer_layers.0.self_attn.linear_keys.weight"
    save_file({**weights, name: weights[name][:8].clone()}, directory / WEIGHTS)


REFUSALS: list[tuple[Edit, str]] = [
    (options(layer_norm="rms"), r"layer_norm of an eole model .*\['standard', .*got 'rms'"),
    (options(mlp_activation_fn="gated-silu"), "mlp_activation_fn .*got 'gated-silu'"),
    (options(position_encoding_type="Rotary"), "position_encoding_type .*got 'Rotary'"),
    (options(position_encoding_type=None), "position_encoding_type .*got None"),
    (options(norm_eps=0.1), "norm_eps of an eole model must be at most 1e-05, got 0.1"),
    (options(sliding_window=4096), "sliding_window .*got 4096"),
    (options(layers=3), "lack encoder.layers.2.self_attn.q_proj.weight"),
    (change("config.json", model={"architecture": "transformer_lm"}), "got 'transformer_lm'"),
    (change("config.json", transforms=["prefix", "sentencepiece"]), r"got \['prefix', 'sent"),
    (change("config.json", transforms=["onmt_tokenize"]), r"transforms .*got \['onmt_tokenize'\]"),
    (change("vocab.json", src=["<unk>"]), "vocabulary of 'src' must have '<blank>'"),
    (change("vocab.json", decoder_start_token="zh"), "lacks decoder_start_token 'zh'"),
    (add_weight, "hold estimator.weight, which the configuration has no place for"),
    (narrow_keys, r"k_proj.weight has shape \(8, 16\), expected \(16, 16\)"),
    (lambda directory: (directory / WEIGHTS).unlink(), "holds no weights: no model.00.safetensors"),
    (lambda directory: (directory / "zh.spm.model").unlink(), "lacks zh.spm.model"),
]


@pytest.mark.parametrize(("edit", "said"), REFUSALS)
def test_what_our_network_lacks_is_refused_by_its_name(
    tmp_path: Path, edit: Edit, said: str
) -> None:
    source = Path(shutil.copytree(ORIGINAL, tmp_path / "source"))
    edit(source)
    with pytest.raises(SourceError, match=said) as raised:
        import_source(str(source), tmp_path / "ours", None, PAIR)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
    assert len(str(raised.value).splitlines()) == 1


def test_no_export_adds_an_end_to_its_sources(ours: Checkpoint, tmp_path: Path) -> None:
    """MarianTokenizer would, without a word."""
    with pytest.raises(ExportError, match=r"</s>, this checkpoint's source_layout is \['text'\]"):
        write_marian_tokenizer(tmp_path, ours, ORIGINAL)
    assert list(tmp_path.iterdir()) == []


def test_languages_that_no_name_tells_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="name them with --source-lang and --target-lang"):
        import_source(str(ORIGINAL), tmp_path / "ours", None, Wanted())
