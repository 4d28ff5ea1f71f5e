"""Import a foreign model: detect its family and write it as a checkpoint."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from model.checkpoint import CheckpointError, CheckpointInfo
from model.checkpoint.saving import save_checkpoint
from model.checkpoint.shortlist import SHORTLIST_FILE
from model.files import reason_of
from model.importers.eole import import_eole
from model.importers.fairseq import import_fairseq
from model.importers.formats import eole_directory, unsupported_family, unsupported_format
from model.importers.imported import (
    Imported,
    SourceError,
    Wanted,
    find_archive,
    find_marian_models,
)
from model.importers.m2m_100 import import_m2m_100
from model.importers.marian import import_marian
from model.importers.mbart import import_mbart
from model.importers.native_marian import import_native_marian
from model.importers.source import SourceDirectory
from model.importers.t5 import import_t5, refuse_umt5
from model.trials.checkpoint import add_self_test

_Importer = Callable[[SourceDirectory, Wanted], Imported]
_FAMILIES: dict[str, _Importer] = {
    "marian": import_marian,
    "pegasus": import_marian,
    "m2m_100": import_m2m_100,
    "mbart": import_mbart,
    "t5": import_t5,
    "umt5": refuse_umt5,
}
_WRONG = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError),
    *(RuntimeError, OverflowError, RecursionError),
)
"""Exceptions from wrong values in a file that no specific check catches."""
_SUPPORTED = (
    "marian, m2m_100 (with NLLB-200 and SMaLL-100), mbart (mBART-50), t5 (with MADLAD-400), "
    "eole (QuickMT), Marian's own files and fairseq Transformers"
)
_CARD = """# {name}

Imported by `dragoman import`; the weights are as they were.

{origin}
- languages: {languages}
- stored as: {dtype}

Licence, training data and limits are those of the original: see its own card.
"""


def import_model(
    source: Path, destination: Path, origin: Mapping[str, str], wanted: Wanted
) -> None:
    """Write the model of a directory or fairseq archive as the checkpoint `destination`.

    The checkpoint stores `origin`; its name is the last part of the origin's "source".
    Raises SourceError and leaves no files then. The destination must not exist.
    """
    if destination.exists():
        raise SourceError(f"{destination} exists already; remove it or name another directory")
    try:
        imported = _read(source, origin["source"], wanted)
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=destination.parent) as scratch:
            finished = Path(scratch) / "checkpoint"
            try:
                _write(finished, imported, origin)
                del imported  # the self-test needs the memory
                add_self_test(finished)
            except CheckpointError as error:
                raise SourceError(str(error).replace(str(finished), str(source))) from error
            finished.rename(destination)
    except SourceError as error:
        raise _about(source, str(error)) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise _about(source, f"cannot be imported: {where}{reason_of(error)}") from error
    except _WRONG as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        reason = " ".join(reason.split())
        raise SourceError(f"{source} does not describe a model: {reason}") from error


def _about(source: Path, message: str) -> SourceError:
    return SourceError(message if str(source) in message else f"{source}: {message}")


def _write(finished: Path, imported: Imported, origin: Mapping[str, str]) -> None:
    info = _info(imported, origin)
    dtype = _dtype(imported)
    files = _tokenizer_files(finished.parent, imported)
    if imported.shortlist:
        files.append(finished.parent / SHORTLIST_FILE)
        files[-1].write_bytes(imported.shortlist)
    save_checkpoint(finished, info, imported.weights, files, dtype)
    (finished / "MODEL_CARD.md").write_text(_card(info, dtype), encoding="utf-8")


def _read(source: Path, name: str, wanted: Wanted) -> Imported:
    """Read it with its family's importer."""
    if not source.exists():
        raise SourceError(f"there is no {source}")
    if eole := eole_directory(source):
        return import_eole(SourceDirectory(eole, name), wanted)
    if unsupported := unsupported_format(source):
        raise SourceError(f"{source} is {unsupported}; supported: {_SUPPORTED}")
    if source.is_dir() and (source / "config.json").is_file():
        directory = SourceDirectory(source)
        family = directory.config.get("model_type")
        if not isinstance(family, str) or family not in _FAMILIES:
            what = unsupported_family(directory.config)
            raise SourceError(f"{source} holds {what}; supported: {_SUPPORTED}")
        return _FAMILIES[family](directory, wanted)
    if archive := find_archive(source):
        return import_fairseq(archive, wanted)
    if find_marian_models(source):
        return import_native_marian(source, wanted)
    raise SourceError(
        f"{source} holds neither config.json, a .pt archive nor a model of Marian; supported: "
        f"{_SUPPORTED}"
    )


def _tokenizer_files(directory: Path, imported: Imported) -> list[Path]:
    """Put the tokenizer files into the directory under their checkpoint names."""
    for name, content in imported.files.items():
        if isinstance(content, Path):
            shutil.copyfile(content, directory / name)
        else:
            text = json.dumps(content, ensure_ascii=False, indent=0)
            (directory / name).write_text(text + "\n", encoding="utf-8")
    return [directory / name for name in imported.files]


def _info(imported: Imported, origin: Mapping[str, str]) -> CheckpointInfo:
    return CheckpointInfo(
        name=origin["source"].split("/")[-1].removesuffix(".pt"),
        architecture=imported.architecture,
        pairs=imported.pairs,
        tokenizer=imported.tokenizer,
        decoding=imported.decoding,
        origin=origin,
    )


def _dtype(imported: Imported) -> torch.dtype:
    """float16 or bfloat16 if that loses nothing, as of models that were trained in it; otherwise
    float32."""
    for dtype in (torch.float16, torch.bfloat16):
        if all(_fits(weight, dtype) for weight in imported.weights.values()):
            return dtype
    return torch.float32


def _fits(weight: torch.Tensor, dtype: torch.dtype) -> bool:
    return torch.equal(weight.to(dtype).to(weight.dtype), weight)


def _card(info: CheckpointInfo, dtype: torch.dtype) -> str:
    origin = "\n".join(f"- {key}: {value}" for key, value in info.origin.items())
    languages = ", ".join(info.languages.codes)
    return _CARD.format(
        name=info.name, origin=origin, languages=languages, dtype=str(dtype).removeprefix("torch.")
    )
