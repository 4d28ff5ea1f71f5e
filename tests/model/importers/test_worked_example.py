"""The example of an importer gives the logits of the network that it imports."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from model.checkpoint import CheckpointInfo
from model.checkpoint.reference import load_checkpoint
from model.checkpoint.saving import save_checkpoint
from model.importers.imported import Wanted
from model.importers.source import SourceDirectory
from model.network.parameters import sinusoids
from tests.model.importers.worked_example import import_torch

SIZES: dict[str, Any] = {
    "d_model": 16,
    "nhead": 2,
    "dim_feedforward": 32,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
}


class Theirs(nn.Module):
    """A translator as people write it with PyTorch."""

    def __init__(self, num_pieces: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_pieces, SIZES["d_model"])
        self.transformer = nn.Transformer(**SIZES, norm_first=True, batch_first=True)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        states = self.transformer(self._embedded(src), self._embedded(tgt), tgt_mask=mask)
        logits: Tensor = states @ self.embedding.weight.T
        return logits

    def _embedded(self, ids: Tensor) -> Tensor:
        scaled: Tensor = self.embedding(ids) * math.sqrt(SIZES["d_model"])
        return scaled + torch.from_numpy(sinusoids(ids.shape[1], SIZES["d_model"]))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # what it is for needs no norm first
def test_the_logits_are_those_of_the_original(tmp_path: Path, tiny_tokenizer_file: Path) -> None:
    directory = tmp_path / "theirs"
    directory.mkdir()
    shutil.copyfile(tiny_tokenizer_file, directory / "sentencepiece.model")
    torch.manual_seed(1)
    theirs = Theirs(num_pieces=450).eval()
    save_file(theirs.state_dict(), directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps({"model_type": "torch", **SIZES}))

    found = import_torch(SourceDirectory(directory), Wanted(("en",), ("de",)))
    info = CheckpointInfo(
        "ours", found.architecture, found.pairs, found.tokenizer, found.decoding, origin={}
    )
    files = [file for file in found.files.values() if isinstance(file, Path)]
    save_checkpoint(tmp_path / "ours", info, found.weights, files, torch.float32)
    ours = load_checkpoint(tmp_path / "ours")
    src = torch.tensor([ours.tokenizer.encode_source("I like tea.", "de", "en")])
    tgt = torch.tensor([[ours.info.architecture.bos_id, 7, 9]])
    with torch.inference_mode():
        assert torch.allclose(ours.model(src, tgt), theirs(src, tgt), atol=1e-5)
