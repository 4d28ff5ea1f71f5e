"""What is nearly a model that we read is refused in one sentence, which says what it is: by the
import, and where `--model` names it. None of it is read as something else."""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from model.importers.imported import SourceError, Wanted
from model.importers.resolve import import_source, resolve_checkpoint

PAIR = Wanted(("en",), ("de",))


def files(**contents: Any) -> Callable[[Path], Path]:
    """Write a directory of files; `__` stands for a dot and `_in_` for a slash."""

    def write(directory: Path) -> Path:
        for name, content in contents.items():
            path = directory / name.replace("_in_", "/").replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return directory

    return write


def file(name: str) -> Callable[[Path], Path]:
    """Write one file."""

    def write(directory: Path) -> Path:
        directory.mkdir()
        (directory / name).write_bytes(b"GGUF")
        return directory / name

    return write


def family(model_type: str | None, *architectures: str, **more: Any) -> Callable[[Path], Path]:
    """Write a config.json of Hugging Face, and weights of which nothing is read."""
    config = {"model_type": model_type, "architectures": architectures, **more}
    return files(config__json=config, model__safetensors="")


def opennmt(vocabulary: object) -> Callable[[Path], Path]:
    """Write a checkpoint of OpenNMT-py."""

    def write(directory: Path) -> Path:
        directory.mkdir()
        saved = {"model": {"weight": torch.zeros(1)}, "opt": argparse.Namespace(enc_layers=6)}
        torch.save({**saved, "vocab": vocabulary}, directory / "model.pt")
        return directory

    return write


class Field:
    """Pickled as torchtext's."""

    __module__ = "torchtext.data.field"


def old_opennmt(directory: Path) -> Path:
    """Pickle by the protocol that torch had before 1.6."""
    directory.mkdir()
    content = b"\x80\x02ctorchtext.data.field\nField\n)\x81."
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
    header = b"".join(pickle.dumps(part, protocol=2) for part in parts)
    (directory / "model.pt").write_bytes(header + content)
    return directory


CT2 = {"add_source_eos": False, "bos_token": "<s>"}
ENCODER_DECODER = {"is_encoder_decoder": True}
CASES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "CTranslate2": (files(config__json=CT2, model__bin="", source_vocabulary__json=[]), "is a CTr"),
    "CTranslate2, Hub": (files(config__json=CT2), "is a CTranslate2 model; name the model that"),
    "CTranslate2, old": (files(model__bin="", shared_vocabulary__txt=""), "is a CTranslate2 model"),
    "CTranslate2, named": (
        files(config__json={"model_type": "marian"}, model__bin="", shared_vocabulary__json=[]),
        "is a CTranslate2 model",
    ),
    "Argos": (file("translate-en_de-1_9.argosmodel"), "is a package of Argos Translate"),
    "Argos, unpacked": (
        files(metadata__json={}, model_in_model__bin="", model_in_config__json=CT2),
        "is a package of Argos Translate, .*OPUS-MT has",
    ),
    "GGUF": (file("model-q4_k.gguf"), "is a GGUF file of llama.cpp; name the model that it was"),
    "GGUF, directory": (files(model__gguf="GGUF"), "is a GGUF file"),
    "ONNX": (file("model.onnx"), "is an ONNX export"),
    "ONNX, directory": (
        files(config__json={"model_type": "marian"}, onnx_in_encoder_model__onnx=""),
        "is an ONNX export; name the model that it was made from",
    ),
    "PEFT": (files(adapter_config__json={}, adapter_model__safetensors=""), "is a PEFT adapter; m"),
    "OpenNMT-py": (opennmt({"src": ["a"]}), "is a model of OpenNMT-py, which is not supported"),
    "OpenNMT-py, old": (old_opennmt, "needs torchtext.data.field.Field, as models of OpenNMT-py"),
    "BART": (
        family("bart", "BartForConditionalGeneration", **ENCODER_DECODER),
        "holds a 'bart' model, an encoder-decoder of another family; supported: marian",
    ),
    "Blenderbot": (family("blenderbot", **ENCODER_DECODER), "a 'blenderbot' model, an encoder-dec"),
    "FSMT": (family("fsmt", **ENCODER_DECODER), "a 'fsmt' model, an encoder-decoder of another"),
    "NLLB-MoE": (family("nllb-moe", **ENCODER_DECODER), "of which the dense models are read"),
    "Switch": (family("switch_transformers", **ENCODER_DECODER), "'switch_transformers' model, an"),
    "Llama": (family("llama", "LlamaForCausalLM"), "a language model without an encoder .vLLM"),
    "Gemma 3": (family("gemma3", "Gemma3ForConditionalGeneration"), "a language model without an"),
    "GPT-2": (family("gpt2", "GPT2LMHeadModel"), "a language model without an encoder"),
    "BERT": (family("bert", "BertForMaskedLM"), "'bert' model, which has no decoder and does not"),
    "no family": (family(None), "holds a model whose config.json has no model_type; supported"),
    "Pegasus": (family("pegasus", **ENCODER_DECODER), "holds a Pegasus model, which summarises"),
    "eole's language model": (
        files(config__json={"model": {"architecture": "transformer_lm"}}, vocab__json={}),
        "must be one of .'transformer'., got 'transformer_lm'",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_one_sentence_wherever_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write, said = CASES[name]
    source = write(tmp_path / "source")
    for refused in (
        lambda: import_source(str(source), tmp_path / "ours", None, PAIR),
        lambda: resolve_checkpoint(source),
    ):
        with pytest.raises(SourceError, match=said) as raised:
            refused()
        assert str(source) in str(raised.value)
        assert len(str(raised.value).splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
