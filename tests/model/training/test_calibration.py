"""Heads that align words are chosen, and confidence is fitted, on a model's own translations."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from model.checkpoint import read_info, verify_sums
from model.decoding.confidence import probability
from model.decoding.sentence import Hypothesis
from model.text.tokenizer import Tokenizer
from model.training.calibration import (
    DevTranslation,
    Example,
    calibrate,
    fitted,
    word_examples,
)

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


def test_chosen_heads_are_stored_and_no_worse_than_the_default(
    tmp_path: Path, tiny_pairs: Path
) -> None:
    """Of a copy of the bundled checkpoint, as if nobody had chosen its heads."""
    checkpoint = Path(shutil.copytree(BUNDLED, tmp_path / "zh-en"))
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(RECIPE.format(pairs=tiny_pairs.resolve()), encoding="utf-8")
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


class Letters:
    """A tokenizer of one id a character."""

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))

    def target_spans(self, ids: list[int]) -> list[tuple[int, int]]:
        return [(i, i + 1) for i in range(len(ids))]


TOKENIZER = cast(Tokenizer, Letters())


def translated(text: str, reference: str) -> DevTranslation:
    ids = list(map(ord, text))
    best = Hypothesis(ids, [-0.1] * (len(ids) + 1), -0.1, "stop")
    return DevTranslation(("en", "de"), "x", reference, [5, 6, 3], best)


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("Das Haus ist alt.", "das alte Haus ist hier", [True, True, True, False]),
        ("ein ein Haus", "ein Haus", [True, False, True]),
        ("... !", "...", []),
    ],
)
def test_a_word_is_right_if_the_reference_has_one_more(
    text: str, reference: str, expected: list[bool]
) -> None:
    examples = list(word_examples(TOKENIZER, translated(text, reference)))
    assert [example.is_right for example in examples] == expected


def test_the_fit_gives_back_the_probabilities_that_made_the_examples() -> None:
    rng = random.Random(1)
    truth = (0.5, 2.0, -1.0)
    examples = []
    for _ in range(20_000):
        features = [1.0, rng.uniform(-3, 0), rng.uniform(-2, 2)]
        examples.append(Example(features, rng.random() < probability(truth, features)))
    np.testing.assert_allclose(fitted(examples), truth, atol=0.1)
