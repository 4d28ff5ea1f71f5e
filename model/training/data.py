"""Parallel corpora as token batches: reading, sampling by weight, batching by tokens.

An epoch's batches depend only on the seed and the epoch's number, so a resumed run sees the same
data as an uninterrupted one.
"""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.files import reason_of
from model.text.tokenizer import Tokenizer
from model.training.anchors import Aligner, Pair
from model.training.augmentation import MadePair, augment
from model.training.recipe import CorpusTable, DataTable, RecipeError
from model.training.terms import term_pairs

Indices = NDArray[np.int64]
Augment = Callable[[Sequence[Pair]], list[MadePair]]
Item = TypeVar("Item")
Result = TypeVar("Result")
_EPOCHS_KEPT = 4
_ALIGNED_PAIRS = 5_000
"""Pairs per corpus that the word alignment uses."""
_NO_TOKEN = -1
_SOURCE_SIDES = {"both": (0, 1), "first": (0,), "second": (1,)}
_MOST_LINE_CHARACTERS = 1_000_000
_MOST_READ = _MOST_LINE_CHARACTERS + 2  # the line feed, and one to detect longer lines


class Batch(NamedTuple):
    """src (B, S), tgt_in (B, T) starting with bos, tgt_out (B, T) ending with eos; padded.
    `places`: those of tgt_out, flat, that are no padding."""

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    places: Tensor

    def to(self, device: torch.device) -> Batch:
        """Copied while the CPU goes on, if its memory is pinned."""
        return Batch(*(ids.to(device, non_blocking=True) for ids in self))

    def pinned(self) -> Batch:
        return Batch(*(ids.pin_memory() for ids in self))


def read_pairs(path: Path) -> list[Pair]:
    """Read a UTF-8 TSV file, plain or .gz, one pair per line. A bad line raises RecipeError."""
    opener = gzip.open if path.suffix == ".gz" else open
    pairs: list[Pair] = []
    try:
        with opener(path, "rt", encoding="utf-8-sig") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(_MOST_READ), ""), 1):
                if len(line) == _MOST_READ:
                    raise RecipeError(
                        f"{path}, line {number}: longer than {_MOST_LINE_CHARACTERS} characters"
                    )
                columns = line.rstrip("\n").split("\t")
                if len(columns) != 2:
                    raise RecipeError(
                        f"{path}, line {number}: expected 2 columns separated by a tab, "
                        f"got {len(columns)}"
                    )
                pairs.append((columns[0], columns[1]))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise RecipeError(f"cannot read the corpus {path}: {reason_of(error)}") from error
    return pairs


class TokenLists:
    """Many short lists of token ids in one flat array (a tenth of a Python list of lists)."""

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        self.lengths = np.array([len(ids) for ids in lists], dtype=np.int64)
        self.starts = self.lengths.cumsum() - self.lengths
        self.ids = np.fromiter((i for ids in lists for i in ids), dtype=np.int32)

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        start = self.starts[index]
        return self.ids[start : start + self.lengths[index]]

    @classmethod
    def joined(cls, parts: Sequence[TokenLists]) -> TokenLists:
        """The lists of all parts, in order."""
        whole = cls(())
        whole.lengths = np.concatenate([whole.lengths, *(part.lengths for part in parts)])
        whole.starts = whole.lengths.cumsum() - whole.lengths
        whole.ids = np.concatenate([whole.ids, *(part.ids for part in parts)])
        return whole


@dataclass(frozen=True)
class TokenizedCorpus:
    """One corpus. `sides` are the token lists of the two languages; `source_sides` are the
    indices of the sides used as source."""

    name: str
    weight: float
    sides: tuple[TokenLists, TokenLists]
    source_sides: tuple[int, ...] = (0, 1)

    def __len__(self) -> int:
        return len(self.sides[0].lengths)


def tokenize_corpora(data: DataTable, tokenizer: Tokenizer, split: str) -> list[TokenizedCorpus]:
    """Read and tokenize every corpus that has this split ("train", "dev" or "test")."""
    allowed = {0} if data.is_one_way else {0, 1}
    corpora = [
        (corpus, read_pairs(path))
        for corpus in data.corpora
        if (path := corpus.path(split)) is not None
    ]
    make, made = None, list[MadePair]()
    if split == "train":
        if data.terms.weight:
            searched = [pairs for corpus, pairs in corpora if corpus.has_terms]
            made = term_pairs(searched, data.terms, tokenizer)
        corpora = [_needed(*corpus, data.augmentation.seed) for corpus in corpora]
        make = _augmenter(corpora, data, tokenizer)
    groups = []
    for corpus, pairs in corpora:
        extra = make(pairs) if make and corpus.source == "both" else ()
        groups.append((corpus, _by_sides(extra, {_SOURCE_SIDES[corpus.source]: list(pairs)})))
    groups.append((CorpusTable("terms", weight=data.terms.weight), _by_sides(made, {})))
    return [
        _tokenize(corpus, chosen, tokenizer, data.max_tokens, tuple(sorted(allowed & set(sides))))
        for corpus, by_sides in groups
        for sides, chosen in by_sides.items()
        if allowed & set(sides)
    ]


def _needed(corpus: CorpusTable, pairs: list[Pair], seed: int) -> tuple[CorpusTable, list[Pair]]:
    """A low-weight corpus, randomly cut to what `_EPOCHS_KEPT` epochs use, with its weight
    adjusted to the remaining pairs."""
    share = corpus.weight * _EPOCHS_KEPT
    if share >= 1:
        return corpus, pairs
    kept = random.Random(seed).sample(pairs, round(share * len(pairs)))
    return replace(corpus, weight=1 / _EPOCHS_KEPT), kept


def _augmenter(
    corpora: Sequence[tuple[CorpusTable, list[Pair]]],
    data: DataTable,
    tokenizer: Tokenizer,
) -> Augment:
    """The function that augments a corpus, with words aligned over all corpora if needed."""
    table, languages = data.augmentation, data.languages
    if not (table.placeholders or table.tags or table.signs or table.capitals):
        return lambda pairs: augment(pairs, table, languages=languages)
    rng = random.Random(table.seed)
    seen = [
        pair for _, pairs in corpora for pair in rng.sample(pairs, min(len(pairs), _ALIGNED_PAIRS))
    ]
    aligner = Aligner(seen, tokenizer)
    return lambda pairs: augment(pairs, table, tokenizer.reserved, aligner.anchors, languages)


def _by_sides(
    made: Sequence[MadePair], by_sides: dict[tuple[int, ...], list[Pair]]
) -> dict[tuple[int, ...], list[Pair]]:
    """Add made pairs to `by_sides`, which holds pairs by the sides that may be sources."""
    for extra in made:
        by_sides.setdefault(extra.source_sides, []).append(extra.pair)
    return by_sides


def _tokenize(
    corpus: CorpusTable,
    pairs: list[Pair],
    tokenizer: Tokenizer,
    max_tokens: int,
    source_sides: tuple[int, ...],
) -> TokenizedCorpus:
    first = tokenizer.encode_source_batch([pair[0] for pair in pairs])
    second = tokenizer.encode_source_batch([pair[1] for pair in pairs])
    kept = [
        (a, b)
        for a, b in zip(first, second, strict=True)
        if 0 < len(a) <= max_tokens and 0 < len(b) <= max_tokens
    ]
    sides = (TokenLists([a for a, _ in kept]), TokenLists([b for _, b in kept]))
    return TokenizedCorpus(corpus.name, corpus.weight, sides, source_sides)


class Examples(NamedTuple):
    """Training examples: parallel arrays, one entry per source-target example."""

    corpus: Indices
    pair: Indices
    source_side: Indices


class BatchMaker:
    """Turns tokenized corpora into padded batches of at most `batch_tokens` tokens a side."""

    def __init__(
        self,
        corpora: Sequence[TokenizedCorpus],
        languages: tuple[str, str],
        tokenizer: Tokenizer,
        batch_tokens: int,
    ) -> None:
        self.corpora = corpora
        self.batch_tokens = batch_tokens
        self._lists = TokenLists.joined([side for corpus in corpora for side in corpus.sides])
        sizes = np.array([len(corpus) for corpus in corpora for _ in corpus.sides], np.int64)
        self._first_lists = (sizes.cumsum() - sizes).reshape(-1, 2)
        tags = (tokenizer.tag_id(languages[0]), tokenizer.tag_id(languages[1]))
        self._tags = np.array([_NO_TOKEN if tag is None else tag for tag in tags])
        self._pad, self._bos, self._eos = tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id

    def epoch(self, seed: int, epoch: int) -> list[Examples]:
        """The batches of one epoch: sampled by weight, in both directions, shuffled."""
        rng = np.random.default_rng([seed, epoch])
        parts = []
        for number, corpus in enumerate(self.corpora):
            pairs = _sample(len(corpus), corpus.weight, rng)
            for side in corpus.source_sides:
                parts.append(_examples(number, pairs, side))
        examples = _concatenate(parts)
        order = rng.permutation(len(examples.pair))
        batches = list(self._cut(_reordered(examples, order)))
        return [batches[i] for i in rng.permutation(len(batches))]

    @property
    def num_examples(self) -> int:
        """Examples per epoch."""
        return sum(
            _num_sampled(len(corpus), corpus.weight) * len(corpus.source_sides)
            for corpus in self.corpora
        )

    def everything(self, corpus: int, source_side: int) -> list[Examples]:
        """One corpus in one direction, each pair once."""
        return list(self._cut(_examples(corpus, np.arange(len(self.corpora[corpus])), source_side)))

    def collate(self, examples: Examples) -> Batch:
        """Token ids of a batch as padded tensors."""
        source, target = self._sides(examples)
        src = self._padded(source, self._tags[1 - examples.source_side])
        tgt = self._padded(target, np.full(len(target), self._bos))
        places = np.flatnonzero(tgt[:, 1:] != self._pad)
        tables = src, tgt[:, :-1].copy(), tgt[:, 1:].copy(), places
        return Batch(*map(torch.from_numpy, tables))

    def _sides(self, examples: Examples) -> tuple[Indices, Indices]:
        """The numbers of the lists of each source and each target."""
        firsts = self._first_lists[examples.corpus]
        rows, side = np.arange(len(firsts)), examples.source_side
        return firsts[rows, side] + examples.pair, firsts[rows, 1 - side] + examples.pair

    def _padded(self, chosen: Indices, first: Indices) -> Indices:
        """The chosen lists, each between its first token, unless that is _NO_TOKEN, and eos ->
        (B, longest), padded on the right."""
        begin = (first != _NO_TOKEN).astype(np.int64)
        end = begin + self._lists.lengths[chosen]
        columns = np.arange(end.max() + 1)
        table = np.full((len(chosen), len(columns)), self._pad, dtype=np.int64)
        is_inside = (columns >= begin[:, None]) & (columns < end[:, None])
        places = (self._lists.starts[chosen] - begin)[:, None] + columns
        table[is_inside] = self._lists.ids[places[is_inside]]
        table[begin == 1, 0] = first[begin == 1]
        table[np.arange(len(chosen)), end] = self._eos
        return table

    def _cut(self, examples: Examples) -> Iterator[Examples]:
        """Sort by length (ties keep their random order) and cut when the token budget is full."""
        source, target = self._sides(examples)
        src, tgt = self._lists.lengths[source] + 2, self._lists.lengths[target] + 1
        order = np.lexsort((src, tgt))
        widths = np.maximum(src, tgt)[order]
        start = 0
        while start < len(order):
            following = widths[start : start + self.batch_tokens // widths[start] + 1]
            sizes = np.maximum.accumulate(following) * np.arange(1, len(following) + 1)
            end = start + max(1, int(np.searchsorted(sizes, self.batch_tokens, side="right")))
            yield _reordered(examples, order[start:end])
            start = end


def computed_ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`work` of each item, in order; a thread works on the next one meanwhile."""
    with ThreadPoolExecutor(1) as thread:
        coming = None
        for item in items:
            current, coming = coming, thread.submit(work, item)
            if current is not None:
                yield current.result()
        if coming is not None:
            yield coming.result()


def _sample(size: int, weight: float, rng: np.random.Generator) -> Indices:
    """Every index floor(weight) times, and a random part of them once more."""
    whole, part = divmod(weight, 1.0)
    extra = rng.choice(size, round(part * size), replace=False)
    return np.concatenate([np.tile(np.arange(size), int(whole)), extra])


def _num_sampled(size: int, weight: float) -> int:
    whole, part = divmod(weight, 1.0)
    return int(whole) * size + round(part * size)


def _examples(corpus: int, pairs: Indices, source_side: int) -> Examples:
    return Examples(np.full(len(pairs), corpus), pairs, np.full(len(pairs), source_side))


def _concatenate(parts: list[Examples]) -> Examples:
    return Examples(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _reordered(examples: Examples, order: Indices) -> Examples:
    return Examples(examples.corpus[order], examples.pair[order], examples.source_side[order])
