"""How well a checkpoint's confidence says what is right, on unseen sentences.

    python -m benchmarks.confidence checkpoints/zh-en checkpoints/en-de --plot confidence.svg

Translates sentences of the test sets of the recipe's corpora. What right means:
`model.training.confidence`. The expected calibration error is the mean distance between confidence
and the share that is right, over ten bins of equal width, weighted by their size. The last column
is the area under the ROC curve: how often something right has more confidence than something wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.checkpoint import load_checkpoint
from model.confidence import probability
from model.training.confidence import Example, sentence_example, word_examples
from model.training.dev_translations import dev_translations
from model.training.recipe_file import load_recipe

_BINS = 10
Numbers = NDArray[np.float64]


class Rated(NamedTuple):
    """Confidences, and 1 where that is right, else 0."""

    name: str
    confidence: Numbers
    is_right: Numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoints", nargs="+", type=Path)
    parser.add_argument("--recipes", type=Path, default=Path("recipes"), help="directory")
    parser.add_argument("--sentences", type=int, default=50, help="per corpus and direction")
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    measured = [
        rated
        for directory in given.checkpoints
        for rated in rate(directory, given.recipes, given.sentences)
    ]
    print(f"{'':<16} {'number':>7} {'right':>7} {'mean':>7} {'ECE':>7} {'AUC':>7}")
    for name, confidence, is_right in measured:
        print(
            f"{name:<16} {len(is_right):>7} {is_right.mean():>7.3f} {confidence.mean():>7.3f} "
            f"{calibration_error(confidence, is_right):>7.3f} {area(confidence, is_right):>7.3f}"
        )
    if given.plot:
        plot(measured, given.plot)


def rate(directory: Path, recipes: Path, sentences: int) -> list[Rated]:
    """Words and sentences of each direction."""
    checkpoint = load_checkpoint(directory)
    data = load_recipe(recipes / f"{checkpoint.info.name}-wide.toml").data
    translations = list(dev_translations(checkpoint, data, "test", sentences))
    rated = []
    for direction in data.directions:
        own = [t for t in translations if t.direction == direction]
        words = [word for t in own for word in word_examples(checkpoint.tokenizer, t)]
        wholes = [sentence_example(checkpoint.tokenizer, t) for t in own]
        calibration, name = checkpoint.info.confidence[direction], " → ".join(direction)
        rated.append(_rated(f"{name} words", words, calibration.word))
        rated.append(_rated(f"{name} sentences", wholes, calibration.sentence))
    return rated


def _rated(name: str, examples: Sequence[Example], weights: Sequence[float]) -> Rated:
    confidence = [probability(weights, example.features) for example in examples]
    is_right = [float(example.is_right) for example in examples]
    return Rated(name, np.array(confidence), np.array(is_right))


def bins(confidence: Numbers, is_right: Numbers) -> list[tuple[float, float, int]]:
    """Mean confidence, share that is right, and size of each bin that is not empty."""
    number = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    inside = [number == i for i in range(_BINS)]
    return [
        (float(confidence[own].mean()), float(is_right[own].mean()), int(own.sum()))
        for own in inside
        if own.any()
    ]


def calibration_error(confidence: Numbers, is_right: Numbers) -> float:
    distances = [abs(mean - share) * size for mean, share, size in bins(confidence, is_right)]
    return sum(distances) / len(confidence)


def area(confidence: Numbers, is_right: Numbers) -> float:
    """The area under the ROC curve, by ranks; equal confidences count half."""
    _, places, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[places]
    num_right = is_right.sum()
    num_wrong = len(is_right) - num_right
    return float(
        (ranks[is_right == 1].sum() - num_right * (num_right + 1) / 2) / (num_right * num_wrong)
    )


def plot(measured: Sequence[Rated], path: Path) -> None:
    """The reliability plot: one panel for words, one for sentences."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9, 4.4), sharey=True)
    for panel, kind in zip(panels, ("words", "sentences"), strict=True):
        panel.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle="--")
        for name, confidence, is_right in measured:
            if name.endswith(kind):
                means, shares, _ = zip(*bins(confidence, is_right), strict=True)
                panel.plot(means, shares, marker="o", label=name.removesuffix(f" {kind}"))
        panel.set(title=kind, xlabel="confidence", xlim=(0, 1), ylim=(0, 1))
        panel.legend()
    panels[0].set_ylabel("share that is right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
