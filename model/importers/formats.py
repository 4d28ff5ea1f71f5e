"""Tell foreign models apart by their files, without reading weights, and say what is not read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model.files import FileError, read_json
from model.values import shown

EOLE_FOLDERS = ("eole-model", "eole_model")
"""Where QuickMT keeps eole's model, beside a conversion of it."""
_MOST_JSON_BYTES = 2**24
WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin")
_ORIGINAL = "name the model that it was made from, a Hub id or a directory"
_LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")


def config_of(directory: Path) -> dict[str, Any]:
    """config.json; empty if there is none, or if it cannot be read."""
    path = directory / "config.json"
    try:
        parsed = read_json(path, _MOST_JSON_BYTES) if path.is_file() else {}
    except FileError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def eole_directory(source: Path) -> Path | None:
    """The directory of eole's model: the source itself or a folder in it."""
    for directory in (source, *(source / name for name in EOLE_FOLDERS)):
        if isinstance(config_of(directory).get("model"), dict):
            return directory
    return None


def unsupported_format(source: Path) -> str | None:
    """Which program's format it is that is not read, and what to do instead; None for others."""
    if any(
        (source / f"{name}{end}").is_file() for name in WEIGHT_FILES for end in ("", ".index.json")
    ):
        return None
    return next((said for is_format, said in _FORMATS if is_format(source)), None)


def unsupported_family(config: Mapping[str, Any]) -> str:
    """What kind of model a config.json of Hugging Face is of, if its family is not read."""
    kind = config.get("model_type")
    if kind is None:
        return "a model whose config.json has no model_type"
    if kind == "nllb-moe":
        return "NLLB-200 with experts (nllb-moe), of which the dense models are read"
    if config.get("is_encoder_decoder"):
        return f"a {shown(kind)} model, an encoder-decoder of another family"
    if any(str(name).endswith(_LANGUAGE_MODELS) for name in config.get("architectures") or ()):
        return f"a {shown(kind)} model, a language model without an encoder (vLLM serves those)"
    return f"a {shown(kind)} model, which has no decoder and does not translate"


def _has(*patterns: str) -> Callable[[Path], bool]:
    """Whether the source is a file, or a directory with a file, of each pattern."""
    return lambda source: all(
        source.match(pattern) or any(source.glob(pattern)) for pattern in patterns
    )


def _is_ctranslate2(source: Path) -> bool:
    return "add_source_eos" in config_of(source) or _has("model.bin", "*_vocabulary.*")(source)


_ARGOS = "a package of Argos Translate, a CTranslate2 model; OPUS-MT has models of most pairs"
_FORMATS: tuple[tuple[Callable[[Path], bool], str], ...] = (
    (_has("adapter_config.json"), "a PEFT adapter; merge it with its base model, name the result"),
    (_has("*.argosmodel"), _ARGOS),
    (_has("metadata.json", "model/model.bin"), _ARGOS),
    (_is_ctranslate2, f"a CTranslate2 model; {_ORIGINAL}"),
    (_has("*.gguf"), f"a GGUF file of llama.cpp; {_ORIGINAL}"),
    (_has("*.onnx"), f"an ONNX export; {_ORIGINAL}"),
    (_has("onnx/*.onnx"), f"an ONNX export; {_ORIGINAL}"),
)
