"""A recipe is read as written; every value of another type and every unknown key is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.training.recipe import RecipeError
from model.training.recipe_file import Stage, load_recipe, load_stages
from tests.model.training.recipes import GOOD_RECIPE, write_recipe


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


def test_a_byte_order_mark_before_a_recipe_is_dropped(tmp_path: Path) -> None:
    plain, marked = tmp_path / "plain", tmp_path / "marked"
    plain.mkdir()
    marked.mkdir()
    expected = load_recipe(write_recipe(plain, GOOD_RECIPE))
    found = load_recipe(write_recipe(marked, "\N{ZERO WIDTH NO-BREAK SPACE}" + GOOD_RECIPE))
    assert (found.name, found.model, found.training) == (
        expected.name,
        expected.model,
        expected.training,
    )


def test_a_recipe_without_a_name_is_named_after_its_file(tmp_path: Path) -> None:
    assert (
        load_recipe(write_recipe(tmp_path, GOOD_RECIPE.replace('name = "small"', "", 1))).name
        == "small"
    )


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
rounded = true
"""


def test_a_stage_has_the_settings_of_the_one_before_except_those_it_names(tmp_path: Path) -> None:
    path, run = write_recipe(tmp_path, GOOD_RECIPE + STAGES), Path("run")
    first, second, mean = load_stages(path, run)
    results = run / "second" / "checkpoint", run / "first" / "checkpoint"
    assert mean == Stage(run / "mean", None, results, is_rounded=True)
    assert first.recipe is not None
    assert second.recipe is not None
    assert [corpus.name for corpus in first.recipe.data.corpora] == ["two"]
    assert [corpus.weight for corpus in second.recipe.data.corpora] == [3.0, 4.0]
    assert first.recipe.model == {"d_model": 64, "n_heads": 4}
    assert second.recipe.model == {"d_model": 64, "n_heads": 4, "dropout": 0.3}
    assert (first.recipe.training.start, second.recipe.training.start) == (None, results[1])
    assert second.recipe.data.corpora == load_recipe(path).data.corpora


def test_a_recipe_without_stages_is_one(tmp_path: Path) -> None:
    path = write_recipe(tmp_path, GOOD_RECIPE)
    assert load_stages(path, Path("run")) == [Stage(Path("run"), load_recipe(path))]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('name = "second"', 'name = "first"', "another one for each stage, got 'first'"),
        ('name = "second"', 'name = "../a"', "small letters, digits and hyphens, .* got '../a'"),
        ('name = "second"', "", "got None"),
        ('start = "first"', 'start = "third"', r"must name earlier stages \(first\), got 'third'"),
        ('["second", "first"]', "[]", "must name earlier stages .*, got None"),
        ('["second", "first"]', '["mean"]', "must name earlier stages .*, got 'mean'"),
        ("rounded = true", "rounded = 1", "stages.rounded must be true or false, got 1"),
        ("rounded = true", "round = true", "unknown key 'round' in a stage with mean"),
        ("one = 0.0", "three = 0.0", r"unknown key 'three' in \[data.weights\]"),
        ("one = 0.0", "one = -1.0", "data.corpora.weight must be a number of at least 0"),
        ("model.dropout = 0.3", "model.dropout = 3", "dropout"),
    ],
)
def test_a_mistake_in_a_stage_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert STAGES.count(right) == 1
    with pytest.raises(RecipeError, match=said):
        load_recipe(write_recipe(tmp_path, GOOD_RECIPE + STAGES.replace(right, wrong)))


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("[model]", "[model", "cannot read the recipe .*small.toml"),
        (
            '[[data.corpora]]\nname = "two"',
            '[data.terms]\nweight = -1.0\n[[data.corpora]]\nname = "two"',
            "data.terms.weight must be a number of at least 0, got -1.0",
        ),
        (
            '[[data.corpora]]\nname = "two"',
            '[data.terms]\npairs = 100001\n[[data.corpora]]\nname = "two"',
            "data.terms.pairs must be at most 100000, got 100001",
        ),
        (
            '[[data.corpora]]\nname = "two"',
            '[data.terms]\ncontext = 1\n[[data.corpora]]\nname = "two"',
            r"unknown key 'context' in \[data.terms\]; known: \['contexts', 'corpora', 'pairs'",
        ),
        ("weight = 2.5", "has_terms = 1", "data.corpora.has_terms must be true or false, got 1"),
        ("[decoding]", "[decode]", r"unknown key 'decode' in recipe; known: \['data', 'decoding'"),
        ("max_steps = 100", "max_stepz = 1", r"unknown key 'max_stepz' in \[training\]; known: "),
        ("max_steps = 100", "", r"\[training\] lacks 'max_steps'"),
        ("max_steps = 100", "max_steps = -1", "training.max_steps must be a number of at least 0"),
        ("max_steps = 100", "max_steps = 1.5", "training.max_steps must be a number .*, got 1.5"),
        ("max_steps = 100", 'max_steps = "9"', "training.max_steps must be a number .*, got '9'"),
        ("max_steps = 100", "max_steps = true", "training.max_steps must be a number .*, got True"),
        (
            "max_steps = 100",
            "max_steps = 9\nclip_norm = inf",
            "training.clip_norm must be a number of at least 0, got inf",
        ),
        (
            "max_steps = 100",
            'max_steps = 9\nprecision = "float16"',
            r"training.precision must be one of \['float32', 'bfloat16'\], got 'float16'",
        ),
        ('["zh", "en"]', '"zh"', "data.languages must be a list of strings, got 'zh'"),
        ('["zh", "en"]', "[1, 2]", r"data.languages must be a list of strings, got \[1, 2\]"),
        ('languages = ["zh", "en"]', "", r"\[data\] lacks 'languages'"),
        ("max_tokens = 50", "is_one_way = 1", "data.is_one_way must be true or false, got 1"),
        (
            "max_tokens = 50",
            "augmentation = {copied = -1}",
            "data.augmentation.copied must be a number of at least 0, got -1",
        ),
        (
            "max_tokens = 50",
            "augmentation = {copies = 1}",
            r"unknown key 'copies' in \[data.augmentation\]",
        ),
        (
            "vocab_size = 1000",
            "reserved_pieces = -1",
            "tokenizer.reserved_pieces must be a number of at least 0, got -1",
        ),
        (
            "max_steps = 100",
            "max_steps = 9\ngrow = 1",
            "training.grow must be true or false, got 1",
        ),
        ('train = "two.tsv"', "train = 2", "data.corpora.train must be a string, got 2"),
        ("weight = 2.5", 'weight = "x"', "data.corpora.weight must be a number .*, got 'x'"),
        ("vocab_size = 1000", 'model_type = "word"', r"one of \['unigram', 'bpe'\], got 'word'"),
        ("max_steps = 100", "max_steps = 1\nstart = 1", "training.start must be a string, got 1"),
        ("max_tokens = 50", "max_tokens = 99999", "data.max_tokens must be at most 65536, got 999"),
        ("weight = 2.5", "weight = 1e9", "data.corpora.weight must be at most 10000, got 10000000"),
        (
            "max_tokens = 50",
            "augmentation = {copied = 1e9}",
            "data.augmentation.copied must be at most 100, got 1000000000.0",
        ),
        (
            "vocab_size = 1000",
            "vocab_size = 1_000_000_000",
            "tokenizer.vocab_size must be at most 1000000, got 1000000000",
        ),
        (
            "vocab_size = 1000",
            "vocab_size = 0x" + "f" * 5000,
            "tokenizer.vocab_size must be at most 1000000, got a number of 20000 bits",
        ),
        ("vocab_size = 1000", "vocab_size = " + "9" * 5000, "cannot read the recipe .* Exceeds"),
        ("max_steps = 100", "max_steps = 10_000_000_000_000", "training.max_steps must be at most"),
        (
            "max_steps = 100",
            "max_steps = 9\naverage_last = 100_000",
            "training.average_last must be at most 1000, got 100000",
        ),
        (
            "max_steps = 100",
            "max_steps = 9\nseed = 1e9",
            "training.seed must be a number of at least 0, got 1000000000.0",
        ),
        ('"one"', '"o\\u001bne"', r"data.corpora.name must be of printable .*, got 'o\\x1bne'"),
        ('"one.tsv.gz"', '"one\\u0000.gz"', "data.corpora.train must be of printable characters"),
        ('"one.tsv.gz"', '""', "data.corpora.train must be of printable characters, got ''"),
        ('"small"', "[" * 5000 + "]" * 5000, "cannot read the recipe .*: it is nested too deeply"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(
    tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    assert GOOD_RECIPE.count(right) == 1
    with pytest.raises(RecipeError, match=said):
        load_recipe(write_recipe(tmp_path, GOOD_RECIPE.replace(right, wrong)))


@pytest.mark.parametrize(
    ("corpora", "said"),
    [
        ("[]", "must have at least one entry"),
        ("[1]", r"every entry of data.corpora must be a table, got \[1\]"),
    ],
)
def test_corpora_must_be_tables(tmp_path: Path, corpora: str, said: str) -> None:
    text = f'[data]\nlanguages = ["a", "b"]\ncorpora = {corpora}\n[training]\nmax_steps = 1\n'
    with pytest.raises(RecipeError, match=said):
        load_recipe(write_recipe(tmp_path, text))


def test_a_section_must_be_a_table(tmp_path: Path) -> None:
    text = "model = 3\n" + GOOD_RECIPE.replace("[model]\nd_model = 64\nn_heads = 4\n", "")
    with pytest.raises(RecipeError, match=r"\[model\] must be a table, got 3"):
        load_recipe(write_recipe(tmp_path, text))


def test_a_recipe_that_is_no_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(RecipeError, match="binary.toml is not UTF-8: byte 5 is wrong"):
        load_recipe(tmp_path / "binary.toml")
    with pytest.raises(RecipeError, match="it is not a regular file"):
        load_recipe(tmp_path)
    (tmp_path / "large.toml").write_bytes(b"#" * 2**23)
    with pytest.raises(RecipeError, match="large.toml is larger than 4 MiB"):
        load_recipe(tmp_path / "large.toml")


def test_a_missing_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="cannot read the recipe .*absent.toml"):
        load_recipe(tmp_path / "absent.toml")
