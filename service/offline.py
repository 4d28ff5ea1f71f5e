"""Translate a whole text with nobody waiting: what `dragoman translate` does."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from model.checkpoint import open_checkpoint, read_info
from model.importers.resolve import resolve_checkpoint
from model.languages import shown_pairs
from model.offline import translate_all
from model.placement import resolve_device, resolve_precision
from model.runner import Runner
from model.sentence import SourceSentence
from service.seam import TAG_AND_EOS, count_source_tokens
from service.text.segmentation import Document

_MAX_TARGET_TOKENS = 256


def choose_model(models: Sequence[Path], source: str, target: str) -> Path:
    """The first of the models that has the pair; the first of all if none has, or there is one.

    Raises ValueError if one cannot be read.
    """
    if len(models) > 1:
        for model in models:
            info = read_info(resolve_checkpoint(model))
            if (info.languages.find(source), info.languages.find(target)) in info.pairs:
                return model
    return models[0]


class OfflineTranslator:
    """One checkpoint with its runner; raises ValueError with a ready sentence."""

    def __init__(
        self,
        model: Path,
        device: str,
        precision: str,
        max_slots: int,
        beam_size: int | None,
        length_penalty: float | None,
        max_source_tokens: int | None = None,
    ) -> None:
        """What is None is as the checkpoint has it."""
        device = resolve_device(device)
        checkpoint = open_checkpoint(resolve_checkpoint(model), device)
        self._tokenizer, self._pairs = checkpoint.tokenizer, checkpoint.info.pairs
        self._languages = checkpoint.info.languages
        defaults = checkpoint.info.decoding
        self._options = dataclasses.replace(
            defaults,
            beam_size=defaults.beam_size if beam_size is None else beam_size,
            length_penalty=defaults.length_penalty if length_penalty is None else length_penalty,
            sampling=False,
            n_best=1,
        )
        self._runner = Runner(
            checkpoint.model,
            self._tokenizer.control_ids(),
            max_slots=max_slots,
            max_rows=max_slots * self._options.beam_size,
            max_source_tokens=checkpoint.info.source_limit(max_source_tokens),
            max_target_tokens=_MAX_TARGET_TOKENS,
            max_beam_size=self._options.beam_size,
            precision=resolve_precision(precision, device),
        )

    def translate(self, text: str, source: str, target: str) -> str:
        """The text's translation; progress is shown on stderr."""
        return self.translate_all([text], source, target)[0]

    def translate_all(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        """The translation of each text."""
        source, target = self._languages.resolve(source), self._languages.resolve(target)
        if (source, target) not in self._pairs:
            raise ValueError(
                f"cannot translate {source!r} to {target!r}; supported: {shown_pairs(self._pairs)}"
            )
        max_tokens = self._runner.max_source_tokens - TAG_AND_EOS
        count_tokens = functools.partial(count_source_tokens, self._tokenizer)
        documents = [Document(text, source, max_tokens, count_tokens) for text in texts]
        start = self._tokenizer.target_start(target)
        sentences = [
            SourceSentence(
                self._tokenizer.encode_source(sentence, target, source),
                self._options,
                prefix=start,
            )
            for document in documents
            for sentence in document.sentences
        ]
        with tqdm(total=len(sentences), unit="sentence") as bar:
            finished = translate_all(self._runner, sentences, lambda _: _advance(bar))
        if errors := [result.error for result in finished if result.error is not None]:
            raise ValueError(f"{len(errors)} sentences failed, the first: {errors[0]}")
        best = (self._tokenizer.decode(result.hypotheses[0].ids) for result in finished)
        return [
            document.join(list(itertools.islice(best, len(document.sentences))), target)
            for document in documents
        ]


def _advance(bar: tqdm[Any]) -> None:
    bar.update()
