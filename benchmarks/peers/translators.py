"""Dragoman's runner, CTranslate2, Transformers and Marian behind one interface: ids in, ids out.

Each is imported only by the process that measures it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.peers.shapes import Shape

_MAX_TOKENS = 200
Ids = list[int]


class Split(NamedTuple):
    """How the cores are divided: translators at the same time, and threads of each."""

    translators: int
    threads: int

    def __str__(self) -> str:
        return f"{self.translators} x {self.threads}"


class Translator(Protocol):
    """One engine with its model loaded."""

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[Ids]:
        """The best translation of each, as one batch that the translators divide; without its
        end-of-sentence token."""
        ...


def splits(engine: str, threads: int, device: str) -> list[Split]:
    """Those that may be the best; the comparison takes the better one in each case."""
    name = engine.split(":")[0]
    together, apart = Split(1, threads), Split(threads, 1)
    if device != "cpu" or name == "transformers" or threads == 1:
        return [together]
    return [apart] if name == "marian" else [together, apart]


def divided(sources: Sequence[Ids], number: int) -> list[list[int]]:
    """The places of the sentences in at most `number` shares; each has long and short ones."""
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
    return [order[first::number] for first in range(min(number, len(sources)))]


def collected(shares: Sequence[list[int]], done: Iterable[list[Ids]]) -> list[Ids]:
    """What was done of each share, in the order of the sentences."""
    pairs = zip(shares, done, strict=True)
    by_place = {place: ids for share, some in pairs for place, ids in zip(share, some, strict=True)}
    return [by_place[place] for place in sorted(by_place)]


def make(engine: str, shape: Shape, split: Split, device: str) -> Translator:
    """`engine`: dragoman, dragoman-exact, ctranslate2, transformers or marian, a colon and a
    precision."""
    name, precision = engine.split(":")
    if name == "ctranslate2":
        return CTranslate2(shape, precision, split, device)
    if name == "transformers":
        return Transformers(shape, precision, split, device)
    if name == "marian":
        from benchmarks.peers.marian import Marian

        return Marian(shape, split.translators)
    return Dragoman(shape, precision, split, device, is_exact=name == "dragoman-exact")


class Dragoman:
    """Our runners, which share their weights; `is_exact`: no stopping before nothing better can
    come."""

    def __init__(
        self, shape: Shape, precision: Any, split: Split, device: str, is_exact: bool
    ) -> None:
        import torch

        from model.backends.selection import prepare
        from model.checkpoint import open_checkpoint
        from model.runner import Runner

        torch.set_num_threads(split.translators * split.threads)
        loaded = open_checkpoint(Path(shape.ours), device)
        self._length, self._decoding = shape.forced_length, loaded.info.decoding
        if is_exact:
            self._decoding = dataclasses.replace(self._decoding, lookahead=None)
        never = [loaded.info.architecture.eos_id] if shape.forced_length else []
        control_ids = [*loaded.tokenizer.control_ids(), *never]
        shared = prepare(loaded.model, control_ids, precision, backend=None)
        slots = math.ceil(32 / split.translators)
        self._runners = [
            Runner(
                shared,
                control_ids,
                max_slots=slots,
                max_rows=4 * slots,
                max_source_tokens=128,
                max_target_tokens=256,
                precision=precision,
            )
            for _ in range(split.translators)
        ]
        for runner in self._runners:
            runner.share_cores(split.translators)
        self._threads = ThreadPoolExecutor(split.translators)

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[Ids]:
        from model.decoding.sentence import SourceSentence
        from model.offline import translate_all

        options = dataclasses.replace(
            self._decoding, beam_size=beam_size, n_best=1, max_length=self._length
        )
        shares = divided(sources, len(self._runners))
        given = [[SourceSentence(sources[place], options) for place in share] for share in shares]
        done = list(self._threads.map(translate_all, self._runners[: len(given)], given))
        return collected(shares, [[list(one.hypotheses[0].ids) for one in some] for some in done])


class CTranslate2:
    """Stops when beam_size hypotheses have ended, as it does by default."""

    def __init__(self, shape: Shape, precision: str, split: Split, device: str) -> None:
        import ctranslate2

        self._pieces, self._num_translators = shape.pieces, split.translators
        self._ids = {piece: i for i, piece in enumerate(shape.pieces)}
        self._translator = ctranslate2.Translator(
            shape.ctranslate2,
            device=device,
            compute_type=precision,
            inter_threads=split.translators,
            intra_threads=split.threads,
        )
        self._bounds: dict[str, Any] = {"max_decoding_length": _MAX_TOKENS}
        if shape.forced_length:
            length = shape.forced_length
            self._bounds = {"min_decoding_length": length, "max_decoding_length": length}

    def translate(self, sources: Sequence[Ids], beam_size: int) -> list[Ids]:
        """A share for each translator: one of them would do all of a batch."""
        shares = divided(sources, self._num_translators)
        given = [[[self._pieces[i] for i in sources[place]] for place in share] for share in shares]
        options = {"beam_size": beam_size, "asynchronous": True, **self._bounds}
        waiting = [self._translator.translate_batch(pieces, **options) for pieces in given]
        done = [[one.result().hypotheses[0] for one in results] for results in waiting]
        return collected(shares, [[self._ids_of(some) for some in results] for results in done])

    def _ids_of(self, pieces: Sequence[str]) -> Ids:
        return [self._ids[piece] for piece in pieces]


class Transformers:
    """`generate`, with its own stopping rule."""

    def __init__(self, shape: Shape, precision: str, split: Split, device: str) -> None:
        import torch
        from transformers import AutoModelForSeq2SeqLM

        torch.set_num_threads(split.threads)
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
