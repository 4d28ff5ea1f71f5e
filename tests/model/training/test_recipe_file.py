"""A recipe is read as written; what does not fit is named with what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.training.recipe import RecipeError
from model.training.recipe_file import TrainingStage, load_recipe, load_stages

GOOD_RECIPE = """
name = "small"

[model]
d_model = 64
n_heads = 4

[tokenizer]
vocab_size = 1000

[data]
languages = ["zh", "en"]
max_tokens = 50

[[data.corpora]]
name = "one"
train = "one.tsv.gz"
weight = 2.5

[[data.corpora]]
name = "two"
train = "two.tsv"
dev = "two.dev.tsv"

[training]
max_steps = 100
save_every = 10
validate_every = 20

[decoding]
beam_size = 3
"""


def write_recipe(directory: Path, text: str) -> Path:
    path = directory / "small.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_recipe_is_read_as_written(tmp_path: Path) -> None:
    recipe = load_recipe(write_recipe(tmp_path, GOOD_RECIPE))
    assert (recipe.name, recipe.data.languages, recipe.data.max_tokens) == (
        "small",
        ("zh", "en"),
        50,
    )
    one, two = recipe.data.corpora
    assert (one.train, one.dev, one.weight) == (Path("one.tsv.gz"), None, 2.5)
    assert (two.train, two.dev, two.weight) == (Path("two.tsv"), Path("two.dev.tsv"), 1.0)
    assert (recipe.training.max_steps, recipe.training.warmup_steps) == (100, 4000)
    assert recipe.decoding == {"beam_size": 3}
    config = recipe.model_config(987)
    assert (config.src_vocab_size, config.tgt_vocab_size, config.d_model) == (987, 987, 64)


@pytest.mark.parametrize("recipe", sorted(Path("recipes").glob("*.toml")), ids=str)
def test_the_bundled_recipes_are_valid(recipe: Path) -> None:
    assert load_recipe(recipe).name == recipe.stem


STAGES = """
[[stages]]
name = "first"
data.weights = { one = 0.0 }
[[stages]]
name = "second"
start = "first"
model.dropout = 0.3
data.weights = { one = 3.0, two = 4.0 }
[[stages]]
name = "mean"
mean = ["second", "first"]
int8 = true
"""


def test_a_corpus_that_is_only_named_has_the_files_of_the_pattern(tmp_path: Path) -> None:
    head, tail = GOOD_RECIPE.split("[[data.corpora]]")[0], GOOD_RECIPE.split("[training]")[1]
    listed = 'corpora = ["one", {name = "two", train = "2.tsv"}, {name = "three", weight = 2}]'
    text = f'{head}files = "{{name}}/{{split}}.gz"\n{listed}\n[training]{tail}'
    one, two, three = load_recipe(write_recipe(tmp_path, text)).data.corpora
    assert (one.train, one.dev, one.test) == tuple(
        map(Path, ("one/train.gz", "one/dev.gz", "one/test.gz"))
    )
    assert (two.train, two.dev, three.test) == (Path("2.tsv"), None, Path("three/test.gz"))
    assert three.weight == 2


def test_a_stage_has_the_settings_of_the_one_before_except_those_it_names(tmp_path: Path) -> None:
    path, run = write_recipe(tmp_path, GOOD_RECIPE + STAGES), Path("run")
    first, second, mean = load_stages(path, run)
    results = run / "second" / "checkpoint", run / "first" / "checkpoint"
    assert mean == TrainingStage(run / "mean", None, results, is_int8=True)
    assert first.recipe is not None
    assert second.recipe is not None
    assert [corpus.name for corpus in first.recipe.data.corpora] == ["two"]
    assert [corpus.weight for corpus in second.recipe.data.corpora] == [3.0, 4.0]
    assert first.recipe.model == {"d_model": 64, "n_heads": 4}
    assert second.recipe.model == {"d_model": 64, "n_heads": 4, "dropout": 0.3}
    assert (first.recipe.training.start, second.recipe.training.start) == (None, results[1])
    assert second.recipe.data.corpora == load_recipe(path).data.corpora


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('start = "first"', 'start = "third"', r"must name earlier stages \(first\), got 'third'"),
        ("one = 0.0", "three = 0.0", r"unknown key 'three' in \[data.weights\]"),
    ],
)
def test_a_mistake_in_a_stage_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert STAGES.count(right) == 1
    with pytest.raises(RecipeError, match=said):
        load_recipe(write_recipe(tmp_path, GOOD_RECIPE + STAGES.replace(right, wrong)))


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("max_steps = 100", "max_steps = 0", "training.max_steps must be at least 1, got 0"),
        ("save_every = 10", "save_every = 30", r"multiple of training.save_every \(30\).*got 20"),
        ('["zh", "en"]', '["zh"]', r"data.languages must be two different codes, got \['zh'\]"),
        (
            "beam_size = 3",
            "max_source_tokens = 53",
            "decoding.max_source_tokens must be a number from 16 to 52, .*, got 53",
        ),
        ("[model]", "[model", "cannot read the recipe .*small.toml"),
        ("max_steps = 100", "max_steps = 1.5", "training.max_steps must be a number .*, got 1.5"),
        (
            "max_steps = 100",
            'max_steps = 9\nprecision = "float16"',
            r"training.precision must be one of \['auto', 'float32', 'bfloat16'\], got 'float16'",
        ),
        ('"one"', '"o\\u001bne"', r"data.corpora.name must be of printable .*, got 'o\\x1bne'"),
        ("max_tokens = 50", 'files = "{name}.gz"', "data.files must have {name} and {split}, got"),
        ('"small"', "[" * 5000 + "]" * 5000, "cannot read the recipe .*: it is nested too deeply"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(
    tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    assert GOOD_RECIPE.count(right) == 1
    with pytest.raises(RecipeError, match=said):
        load_recipe(write_recipe(tmp_path, GOOD_RECIPE.replace(right, wrong)))


def test_a_recipe_that_is_no_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(RecipeError, match="binary.toml is not UTF-8: byte 5 is wrong"):
        load_recipe(tmp_path / "binary.toml")
