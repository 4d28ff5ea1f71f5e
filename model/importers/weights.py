"""Weights from files of unknown origin: no code of a pickle runs, and no archive inflates."""

from __future__ import annotations

import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from model.files import reason_of
from model.importers.imported import SourceError
from model.values import shown

_NEEDED = re.compile(r"Unsupported (?:global|class): (?:GLOBAL )?([\w.]+)")
_OPENNMT = ("torchtext.", "onmt.")
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, or of a tensor-only pickle."""
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except (OSError, SafetensorError) as error:
            raise SourceError(f"{path} is not a safetensors file: {reason_of(error)}") from error
    return tensors_of(read_pickle(path), path)


def read_pickle(path: Path, allowed: tuple[type, ...] = ()) -> dict[str, Any]:
    """Read a dictionary saved by torch without running code from it."""
    try:
        is_zip = zipfile.is_zipfile(path)
        if is_zip:
            refuse_inflation(path, "archives of torch")
        with torch.serialization.safe_globals(list(allowed)), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd values are refused in one line
            loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip)
    except SourceError:
        raise
    except pickle.UnpicklingError as error:
        raise SourceError(
            f"{path} holds more than weights, or no weights at all: {_reason_of_pickle(error)}"
        ) from error
    except Exception as error:  # the reader raises almost anything on damage
        reason = " ".join(reason_of(error).split())[:200] or type(error).__name__
        raise SourceError(f"{path} is not readable: {reason}") from error
    if not isinstance(loaded, dict):
        raise SourceError(f"{path} must hold a dictionary, got {type(loaded).__name__}")
    return loaded


def _reason_of_pickle(error: pickle.UnpicklingError) -> str:
    """The class that a pickle needs, and whose it is, or torch's first line."""
    if (found := _NEEDED.search(str(error))) is None:
        return str(error).strip().splitlines()[0]
    needed = found.group(1)
    is_opennmt = needed.startswith(_OPENNMT)
    return f"it needs {needed}" + (", as models of OpenNMT-py do" if is_opennmt else "")


def tensors_of(values: Mapping[str, Any], path: Path) -> dict[str, Tensor]:
    """The values that are tensors; each must be dense and fully stored in the file. Raises
    SourceError."""
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or (kind := _kind_of(tensor)):
            what = kind if isinstance(name, str) else "named by no text"
            raise SourceError(f"{path}: tensor {shown(name)} is {what}; weights must be dense")
    return tensors


def require_numbers(weights: Mapping[str, Tensor]) -> None:
    """Raises SourceError unless every tensor is a vector or more of floating-point numbers."""
    for name, tensor in weights.items():
        if tensor.dtype not in _DTYPES or tensor.dim() == 0:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise SourceError(
                f"the weights hold {shown(name)} as {kind} of shape {tuple(tensor.shape)}; weights "
                "must be vectors or matrices of floating-point numbers"
            )


def _kind_of(tensor: Tensor) -> str:
    """The unusual property of a tensor, or an empty string."""
    if tensor.layout != torch.strided:
        return "sparse"
    if tensor.is_quantized:
        return "quantised"
    if tensor.device.type != "cpu":
        return f"on the device {tensor.device.type!r}, without its numbers"
    if tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size():
        return "larger than what is stored of it"
    return ""


def refuse_inflation(path: Path, kind: str) -> None:
    """Refuse compressed or overlapping records of a zip archive, which could inflate without limit.
    Files of this kind hold them as they are."""
    with zipfile.ZipFile(path) as archive:
        records = archive.infolist()
    if any(record.compress_type != zipfile.ZIP_STORED for record in records):
        raise SourceError(f"{path} is compressed, which {kind} never are")
    if sum(record.file_size for record in records) > path.stat().st_size:
        raise SourceError(f"{path} is damaged: its records are larger than the file")
