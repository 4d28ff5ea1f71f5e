"""How many names and numbers a checkpoint's word alignment links right, on unseen sentences.

    python -m benchmarks.alignment checkpoints/zh-en checkpoints/en-de

Sentences come from the test sets of the recipe's corpora, in turn: those that have, with the
model's own translation, a number or a name whose translation is sure (`model.training.anchors`).
Dictionaries for names are learned from the training sets. An anchor is right if the strongest link
of the target word leads to the source word, and, in the other column, the other way round.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from model.backends.selection import default_precision
from model.checkpoint import StoredCheckpoint, open_checkpoint
from model.decoding.sentence import Finished, Hypothesis, SourceSentence
from model.offline import translate_all
from model.runner import Runner
from model.training.alignment import Aligner, Pair
from model.training.anchors import KINDS, Kind, KnownPair, known_pairs
from model.training.data import read_pairs
from model.training.recipe import DataTable
from model.training.recipe_file import load_recipe
from service.translation.alignment import AlignmentLink, link_words

_TRAIN_PAIRS = 20_000
_BATCH = 48
_ROUNDS = 5


class Judged(NamedTuple):
    """An anchor, and whether the links lead from target to source and from source to target."""

    kind: Kind
    is_source_right: bool
    is_target_right: bool
    shown: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoints", nargs="+", type=Path)
    parser.add_argument("--recipes", type=Path, default=Path("recipes"), help="directory")
    parser.add_argument("--sentences", type=int, default=200, help="per direction")
    parser.add_argument("--show-wrong", action="store_true")
    parser.add_argument("--cost", action="store_true", help="measure time instead")
    given = parser.parse_args()
    if given.cost:
        for directory in given.checkpoints:
            report_cost(open_checkpoint(directory), given.recipes)
        return
    print("direction  kind      anchors  target->source  source->target")
    for directory in given.checkpoints:
        checkpoint = open_checkpoint(directory)
        data = load_recipe(given.recipes / f"{checkpoint.info.name}-wide.toml").data
        for direction in data.directions:
            judged = list(judge(checkpoint, data, direction, given.sentences))
            report("-".join(direction), judged)
            if given.show_wrong:
                for one in judged:
                    if one.kind != "word" and not (one.is_source_right and one.is_target_right):
                        print("   ", one.shown)


def report_cost(checkpoint: StoredCheckpoint, recipes: Path) -> None:
    """Seconds for a batch without and with alignment, in turn; medians."""
    data = load_recipe(recipes / f"{checkpoint.info.name}-wide.toml").data
    direction = data.directions[0]
    texts = list(itertools.islice(_fitting(checkpoint, data, direction), 2 * _BATCH))
    runner = _runner(checkpoint)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    linking: list[float] = []
    for is_aligned in [False, True] * _ROUNDS:
        started = time.perf_counter()
        results = _translated(checkpoint, runner, texts, direction, is_aligned)
        seconds[is_aligned].append(time.perf_counter() - started)
        if is_aligned:
            started = time.perf_counter()
            for text, result in zip(texts, results, strict=True):
                _linked(checkpoint, text, result.hypotheses[0], direction)
            linking.append(time.perf_counter() - started)
    plain, aligned = (statistics.median(seconds[key]) for key in (False, True))
    print(
        f"{checkpoint.info.name}: {len(texts)} sentences in {plain:.2f} s, with attention "
        f"{aligned:.2f} s ({100 * (aligned / plain - 1):+.1f} %), and "
        f"{1000 * statistics.median(linking) / len(texts):.2f} ms a sentence for its links"
    )


def report(direction: str, judged: list[Judged]) -> None:
    kinds: list[tuple[str, list[Judged]]] = [
        (kind, [one for one in judged if one.kind == kind]) for kind in KINDS
    ]
    kinds.insert(2, ("both", [one for one in judged if one.kind != "word"]))
    for name, group in kinds:
        if group:
            sources = 100 * sum(one.is_source_right for one in group) / len(group)
            targets = 100 * sum(one.is_target_right for one in group) / len(group)
            print(f"{direction:<10} {name:<8} {len(group):>8} {sources:>14.1f} {targets:>15.1f}")


def judge(
    checkpoint: StoredCheckpoint, data: DataTable, direction: tuple[str, str], count: int
) -> Iterator[Judged]:
    """The anchors of `count` sentences that have a number or a name."""
    side = data.languages.index(direction[0])
    aligner = Aligner(_train_pairs(data), checkpoint.tokenizer)
    sentences = _sentences(checkpoint, data, direction)
    while count:
        batch = list(itertools.islice(sentences, _BATCH))
        if not batch:
            raise SystemExit(f"{count} sentences are missing")
        for source, target, links in batch:
            pair = (source, target) if side == 0 else (target, source)
            known = known_pairs(pair, aligner)
            if count and any(anchor.kind != "word" for anchor in known):
                count -= 1
                for anchor in known:
                    yield _judged(anchor, side, links, f"{anchor.kind}: {source} | {target}")


def _judged(known: KnownPair, side: int, links: list[AlignmentLink], shown: str) -> Judged:
    source, target = known.anchor[side], known.anchor[1 - side]

    def touches(link: AlignmentLink) -> tuple[bool, bool]:
        return (
            link.source_start < source.end and source.start < link.source_end,
            link.target_start < target.end and target.start < link.target_end,
        )

    of_target = [link for link in links if touches(link)[1]]
    of_source = [link for link in links if touches(link)[0]]
    is_source_right = bool(of_target) and touches(max(of_target, key=_weight))[0]
    is_target_right = bool(of_source) and touches(max(of_source, key=_weight))[1]
    return Judged(known.kind, is_source_right, is_target_right, shown)


def _weight(link: AlignmentLink) -> float:
    return link.weight


def _train_pairs(data: DataTable) -> Iterator[Pair]:
    for corpus in data.corpora:
        if corpus.train is not None:
            pairs = read_pairs(corpus.train)
            yield from random.Random(0).sample(pairs, min(_TRAIN_PAIRS, len(pairs)))


def _sentences(
    checkpoint: StoredCheckpoint, data: DataTable, direction: tuple[str, str]
) -> Iterator[tuple[str, str, list[AlignmentLink]]]:
    """Test sentences of all corpora in turn, their translations and links, as the server gives."""
    runner, fitting = _runner(checkpoint), _fitting(checkpoint, data, direction)
    while batch := list(itertools.islice(fitting, _BATCH)):
        results = _translated(checkpoint, runner, batch, direction, is_aligned=True)
        for text, result in zip(batch, results, strict=True):
            yield text, *_linked(checkpoint, text, result.hypotheses[0], direction)


def _runner(checkpoint: StoredCheckpoint) -> Runner:
    return Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=_BATCH,
        max_rows=_BATCH * checkpoint.info.decoding.beam_size,
        max_source_tokens=checkpoint.info.source_limit(None),
        max_target_tokens=256,
        precision=default_precision("cpu"),
        byte_ids=checkpoint.tokenizer.byte_ids(),
        copied_ids=checkpoint.tokenizer.copied_ids(),
        alignment_heads=checkpoint.info.alignment_heads,
    )


def _fitting(
    checkpoint: StoredCheckpoint, data: DataTable, direction: tuple[str, str]
) -> Iterator[str]:
    side, limit = data.languages.index(direction[0]), checkpoint.info.source_limit(None)
    return (t for t in _texts(data, side) if _num_tokens(checkpoint, t, direction) <= limit)


def _translated(
    checkpoint: StoredCheckpoint,
    runner: Runner,
    texts: Sequence[str],
    direction: tuple[str, str],
    is_aligned: bool,
) -> list[Finished]:
    tokenizer, (source, target) = checkpoint.tokenizer, direction
    start = tokenizer.target_start(target)
    sentences = [
        SourceSentence(
            tokenizer.encode_source(text, target, source),
            checkpoint.info.decoding,
            prefix=start,
            is_aligned=is_aligned,
        )
        for text in texts
    ]
    return translate_all(runner, sentences)


def _linked(
    checkpoint: StoredCheckpoint, text: str, best: Hypothesis, direction: tuple[str, str]
) -> tuple[str, list[AlignmentLink]]:
    """The translation and its links."""
    tokenizer = checkpoint.tokenizer
    assert best.attention is not None
    target = tokenizer.decode(best.ids)
    spans = (
        tokenizer.source_spans(text, direction[1], direction[0]),
        tokenizer.target_spans(best.ids),
    )
    return target, link_words(text, target, *spans, best.attention)


def _num_tokens(checkpoint: StoredCheckpoint, text: str, direction: tuple[str, str]) -> int:
    return len(checkpoint.tokenizer.encode_source(text, direction[1], direction[0]))


def _texts(data: DataTable, side: int) -> Iterator[str]:
    """One sentence from each corpus in turn, none twice."""
    columns = []
    for corpus in data.corpora:
        if corpus.test is not None:
            texts = list(dict.fromkeys(pair[side] for pair in read_pairs(corpus.test)))
            columns.append(random.Random(1).sample(texts, len(texts)))
    seen: Counter[str] = Counter()
    for row in itertools.zip_longest(*columns):
        for text in row:
            if text is not None and not seen[text]:
                seen[text] += 1
                yield text


if __name__ == "__main__":
    main()
