"""The heads that align words are chosen on the model's own translations, and stored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from model.checkpoint import read_info, verify_sums
from model.training.calibration import calibrate

BUNDLED = Path("checkpoints/zh-en")
RECIPE = """
name = "tiny"
[data]
languages = ["zh", "en"]
[[data.corpora]]
name = "tiny"
train = "{pairs}"
dev = "{pairs}"
[training]
max_steps = 1
"""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The bundled one, as if nobody had chosen its heads."""
    return Path(shutil.copytree(BUNDLED, tmp_path / "zh-en"))


@pytest.fixture
def recipe(tmp_path: Path, tiny_pairs: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(RECIPE.format(pairs=tiny_pairs.resolve()), encoding="utf-8")
    return path


def test_chosen_heads_are_stored_and_no_worse_than_the_default(
    checkpoint: Path, recipe: Path
) -> None:
    before = read_info(checkpoint)
    result = calibrate(checkpoint, recipe, sentences=15)
    choice = result.heads
    assert result.num_sentences == 30
    assert choice.num_anchors > 20
    assert choice.accuracy >= choice.default_accuracy > 70
    info = read_info(checkpoint)
    assert info.alignment_heads == choice.heads != ()
    assert info.confidence.keys() == set(info.pairs)
    assert (info.name, info.architecture, info.decoding) == (
        before.name,
        before.architecture,
        before.decoding,
    )
    assert verify_sums(checkpoint) == verify_sums(BUNDLED)
