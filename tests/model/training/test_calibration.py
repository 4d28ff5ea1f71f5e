"""The heads that align words are chosen on the model's own translations, and stored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from model.checkpoint import load_checkpoint, read_info, verify_sums
from model.network.attention_maps import default_heads
from model.training.calibration import calibrate, choose_heads
from model.training.recipe import CorpusTable, DataTable, RecipeError
from service.commands.group import dragoman

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
    choice = calibrate(checkpoint, recipe, sentences=15)
    assert choice.num_anchors > 20
    assert choice.accuracy >= choice.default_accuracy > 70
    info = read_info(checkpoint)
    assert info.alignment_heads == choice.heads != ()
    assert (info.name, info.architecture, info.decoding) == (
        before.name,
        before.architecture,
        before.decoding,
    )
    assert verify_sums(checkpoint) == verify_sums(BUNDLED)


def test_the_heads_of_the_bundled_models_are_known() -> None:
    for name in ("zh-en", "en-de"):
        info = read_info(Path("checkpoints") / name)
        assert set(default_heads(info.architecture)) <= set(info.alignment_heads)


def test_the_command_says_what_was_chosen(checkpoint: Path, recipe: Path) -> None:
    arguments = ["calibrate", str(checkpoint), "--recipe", str(recipe), "--sentences", "3"]
    result = CliRunner().invoke(dragoman, arguments)
    assert result.exit_code == 0, result.stderr
    heads = ", ".join(f"{a}.{b}" for a, b in read_info(checkpoint).alignment_heads)
    assert f"heads {heads} align" in result.stdout


@pytest.mark.parametrize("has_dev", [False, True])
def test_without_anchors_nothing_is_changed(
    checkpoint: Path, tmp_path: Path, has_dev: bool
) -> None:
    empty = tmp_path / "none.tsv"
    empty.write_text("...\t...\n", encoding="utf-8")
    corpus = CorpusTable("none", empty, dev=empty if has_dev else None)
    data = DataTable(languages=("zh", "en"), corpora=(corpus,))
    with pytest.raises(RecipeError, match="no dev sentence has a word whose translation is sure"):
        choose_heads(load_checkpoint(checkpoint), data, 5)
