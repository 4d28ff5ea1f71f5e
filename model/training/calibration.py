"""Measure on dev data what serving needs beside the weights, and store it in config.json."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

from model.checkpoint import describe_again, load_checkpoint
from model.training.confidence import fit
from model.training.dev_translations import dev_translations
from model.training.head_choice import HeadChoice, choose_heads
from model.training.recipe_file import load_recipe


class CalibrationResult(NamedTuple):
    """The chosen heads, and the number of sentences that confidence was calibrated on."""

    heads: HeadChoice
    num_sentences: int


def calibrate(directory: Path, recipe: Path, sentences: int) -> CalibrationResult:
    """Choose the heads that align words, calibrate confidence, and write both to config.json.

    `sentences`: dev sentences per corpus and direction. Raises CheckpointError, RecipeError or
    OSError; nothing is written then.
    """
    checkpoint, data = load_checkpoint(directory), load_recipe(recipe).data
    translations = list(dev_translations(checkpoint, data, "dev", sentences))
    heads = choose_heads(checkpoint, data, translations)
    fits = {
        direction: fit(checkpoint, [t for t in translations if t.direction == direction])
        for direction in data.directions
    }
    confidence = {direction: fitted for direction, fitted in fits.items() if fitted}
    info = dataclasses.replace(checkpoint.info, alignment_heads=heads.heads, confidence=confidence)
    describe_again(directory, info)
    return CalibrationResult(heads, len(translations))
