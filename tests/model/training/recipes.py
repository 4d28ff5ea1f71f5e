"""A valid recipe file. Tests replace single lines of it."""

from __future__ import annotations

from pathlib import Path

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
