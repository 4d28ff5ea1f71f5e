"""Dragoman's runner, CTranslate2 and Transformers behind one interface: ids in, ids out.

Each is imported only by the process that measures it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers.shapes import Shape

_MAX_TOKENS = 200
Ids = list[int]


class Translator(Protocol):
    """One engine with its model loaded."""

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[Ids]:
        """The best translation of each, as one batch; without its end-of-sentence token."""
        ...


def make(engine: str, shape: Shape, threads: int, device: str) -> Translator:
    """`engine`: dragoman, dragoman-exact, ctranslate2 or transformers, a colon and a precision."""
    name, precision = engine.split(":")
    if name == "ctranslate2":
        return CTranslate2(shape, precision, threads, device)
    if name == "transformers":
        return Transformers(shape, precision, threads, device)
    return Dragoman(shape, precision, threads, device, is_exact=name == "dragoman-exact")


class Dragoman:
    """Our runner; `is_exact`: no stopping before nothing better can come."""

    def __init__(
        self, shape: Shape, precision: Any, threads: int, device: str, is_exact: bool
    ) -> None:
        import torch

        from model.checkpoint import open_checkpoint
        from model.runner import Runner

        torch.set_num_threads(threads)
        loaded = open_checkpoint(Path(shape.ours), device)
        self._length, self._decoding = shape.forced_length, loaded.info.decoding
        if is_exact:
            self._decoding = dataclasses.replace(self._decoding, lookahead=None)
        never = [loaded.info.architecture.eos_id] if shape.forced_length else []
        self._runner = Runner(
            loaded.model,
            [*loaded.tokenizer.control_ids(), *never],
            max_slots=32,
            max_rows=128,
            max_source_tokens=128,
            max_target_tokens=256,
            precision=precision,
        )

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[Ids]:
        from model.decoding.sentence import SourceSentence
        from model.offline import translate_all

        options = dataclasses.replace(
            self._decoding, beam_size=beam_size, n_best=1, max_length=self._length
        )
        done = translate_all(self._runner, [SourceSentence(ids, options) for ids in sources])
        return [list(finished.hypotheses[0].ids) for finished in done]


class CTranslate2:
    """Stops when beam_size hypotheses have ended, as it does by default."""

    def __init__(self, shape: Shape, precision: str, threads: int, device: str) -> None:
        import ctranslate2

        self._pieces = shape.pieces
        self._ids = {piece: i for i, piece in enumerate(shape.pieces)}
        self._translator = ctranslate2.Translator(
            shape.ctranslate2,
            device=device,
            compute_type=precision,
            intra_threads=threads,
            inter_threads=1,
        )
        self._bounds: dict[str, Any] = {"max_decoding_length": _MAX_TOKENS}
        if shape.forced_length:
            length = shape.forced_length
            self._bounds = {"min_decoding_length": length, "max_decoding_length": length}

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[Ids]:
        pieces = [[self._pieces[i] for i in ids] for ids in sources]
        results = self._translator.translate_batch(pieces, beam_size=beam_size, **self._bounds)
        return [[self._ids[piece] for piece in result.hypotheses[0]] for result in results]


class Transformers:
    """`generate`, with its own stopping rule."""

    def __init__(self, shape: Shape, precision: str, threads: int, device: str) -> None:
        import torch
        from transformers import AutoModelForSeq2SeqLM

        torch.set_num_threads(threads)
        kind = getattr(torch, precision)
        model = AutoModelForSeq2SeqLM.from_pretrained(shape.transformers, dtype=kind)
        self._model: Any = model.eval().to(device)
        self._device = device
        self._bounds: dict[str, Any] = {"max_length": None, "max_new_tokens": _MAX_TOKENS}
        if shape.forced_length:
            self._bounds["min_new_tokens"] = self._bounds["max_new_tokens"] = shape.forced_length

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[Ids]:
        import torch

        config = self._model.config
        widest = max(map(len, sources))
        padded = [[*ids, *[config.pad_token_id] * (widest - len(ids))] for ids in sources]
        input_ids = torch.tensor(padded, device=self._device)
        mask = torch.tensor(
            [[1] * len(ids) + [0] * (widest - len(ids)) for ids in sources], device=self._device
        )
        with torch.inference_mode():
            rows = self._model.generate(
                input_ids=input_ids, attention_mask=mask, num_beams=beam_size, **self._bounds
            )
        return [_without_end(row[1:], config.eos_token_id) for row in rows.tolist()]


def _without_end(ids: Ids, eos_id: int) -> Ids:
    return ids[: ids.index(eos_id)] if eos_id in ids else ids
