"""Write a checkpoint directory, or renew parts of it."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from model.checkpoint.files import (
    CONFIG_FILE,
    SELF_TEST_FILE,
    WEIGHTS_FILE,
    CheckpointError,
    verify_sums,
    write_sums,
)
from model.checkpoint.info import CheckpointInfo, render_info
from model.checkpoint.weights import SCALES
from model.files import replacing_files

_LAYERS = ("encoder.", "decoder.")
_MOST_CODE = 127
_ALMOST_HALF = 0.49999997
"""Rounds as linear.cpp does, so that ties fall the same way."""


def save_checkpoint(
    directory: Path,
    info: CheckpointInfo,
    weights: dict[str, Tensor],
    tokenizer_files: list[Path],
    dtype: torch.dtype,
    *,
    is_int8: bool = False,
) -> None:
    """Write a checkpoint directory with checksums. Existing files are replaced after all new ones
    are written. `is_int8`: the matrices of layers as of `in_int8`.

    Raises CheckpointError if a weight is not finite, and OSError if the disk is full.
    """
    stored = {name: tensor.to(dtype).contiguous() for name, tensor in weights.items()}
    for name, tensor in stored.items():
        if not is_finite(tensor):
            kind = str(dtype).removeprefix("torch.")
            raise CheckpointError(f"{name!r} holds numbers that are not finite in {kind}")
    if is_int8:
        stored |= in_int8(weights)
    with replacing_files(directory) as scratch:
        (scratch / CONFIG_FILE).write_text(render_info(info), encoding="utf-8")
        save_weights(stored, scratch / WEIGHTS_FILE)
        for file in tokenizer_files:
            shutil.copyfile(file, scratch / file.name)
        write_sums(scratch, {file.name: file for file in scratch.iterdir()})
    (directory / SELF_TEST_FILE).unlink(missing_ok=True)


def in_int8(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The matrices of the encoder's and decoder's layers in int8, with the scales of their rows:
    the numbers that the native backend computes with in int8, in half the bytes of float16."""
    found: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() == 2 and name.startswith(_LAYERS):
            most = weight.float().abs().amax(1, keepdim=True)
            exact = weight / most.where(most > 0, 1.0) * _MOST_CODE
            codes = exact + torch.full_like(exact, _ALMOST_HALF).copysign(exact)
            found |= {name: codes.to(torch.int8), name + SCALES: most[:, 0] / _MOST_CODE}
    return found


def describe_again(directory: Path, info: CheckpointInfo) -> None:
    """Replace config.json and its checksum. Raises CheckpointError, or OSError if the disk is
    full."""
    add_to_checkpoint(directory, CONFIG_FILE, render_info(info))


def add_to_checkpoint(directory: Path, name: str, text: str) -> None:
    """Write one more file and list it in SHA256SUMS. Raises OSError if the disk is full."""
    listed = verify_sums(directory) - {name}
    with replacing_files(directory) as scratch:
        (scratch / name).write_text(text, encoding="utf-8")
        files = {other: directory / other for other in listed} | {name: scratch / name}
        write_sums(scratch, files)


def save_weights(weights: dict[str, Tensor], path: Path) -> None:
    """Write a safetensors file with the usual file permissions. Raises OSError."""
    try:
        path.touch()
        mode = path.stat().st_mode
        save_file(weights, path)  # makes it readable by its owner only
        path.chmod(mode)
    except SafetensorError as error:
        number = _error_number(str(error))
        raise OSError(number, os.strerror(number), str(path)) from error


def is_finite(weight: Tensor) -> bool:
    """Whether every number is finite: infinity and NaN show in the minimum or the maximum."""
    return weight.numel() == 0 or bool(torch.stack(weight.aminmax()).isfinite().all())


def _error_number(text: str) -> int:
    """The errno in a safetensors error, which keeps only the text."""
    found = re.search(r"os error (\d+)", text)
    return int(found[1]) if found else errno.EIO
