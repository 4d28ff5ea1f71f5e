"""Which spelling of a carrier the networks copy: the share of sentences in which every carrier
comes back exactly once. The network gets the sentences as they are; nothing is kept or put back.

Sentences of tests/data/placeholders*.tsv, and of the corpora's dev sets with names and numbers
replaced that both sides share.

    python -m benchmarks.carriers --data data
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import regex

from benchmarks.sentences import ROOT
from model.backends.selection import resolve_precision
from model.checkpoint import Checkpoint, load_checkpoint
from model.decoding.sentence import SourceSentence
from model.offline import translate_all
from model.runner import Runner
from model.training.data import read_pairs
from model.training.markup import verbatim
from service.translation.language.segmentation import is_spaced
from service.translation.markup.flow import MARK
from service.translation.markup.inline import text_flow

Marked = tuple[str, str, str]
"""Source language, target language, and the text with marks."""
Spell = Callable[[int], str]
_MODELS = {"zh-en": ("zh", "en"), "en-de": ("en", "de")}
_CORPORA = ("tatoeba", "techdocs", "wiki")
_SENTENCES_OF_CORPUS = 40
_MOST_CHARACTERS = 110
_DIGITS = ("40713", "53826", "62941", "75183", "86352", "92475")
_SPELLINGS: dict[str, Spell] = {
    "five digits": lambda n: _DIGITS[n],
    "four digits": lambda n: _DIGITS[n][:4],
    "two digits": lambda n: _DIGITS[n][:2],
    "X and four digits": lambda n: f"X{_DIGITS[n][:4]}",
    "[X1X]": lambda n: f"[X{n + 1}X]",
    "X1X": lambda n: f"X{n + 1}X",
    "A1": lambda n: f"{'ABCDEF'[n]}{n + 1}",
    "unknown name": lambda n: ("Zarnell", "Kelvor", "Morland", "Tirsen", "Balkar", "Denvar")[n],
    "common name": lambda n: ("Tom", "John", "Mary", "Bill", "Ken", "Mike")[n],
    "address": lambda n: f"http://x{n}.com",
}


def marked_sentences(data: Path) -> list[Marked]:
    found = []
    for name in ("placeholders.tsv", "placeholders_unseen.tsv"):
        for line in (ROOT / "tests" / "data" / name).read_text(encoding="utf-8").splitlines():
            source, target, text, _ = line.split("\t")
            found.append((source, target, text_flow(text).text))
    for name, languages in _MODELS.items():
        for corpus in _CORPORA:
            found += dev_sentences(data / f"{corpus}-{name}" / f"dev.{name}.tsv.gz", languages)
    return [
        sentence
        for sentence in dict.fromkeys(found)
        if 0 < sentence[2].count(MARK) < len(_DIGITS) and len(sentence[2]) > 6
    ]


def dev_sentences(path: Path, languages: tuple[str, str]) -> Iterator[Marked]:
    """Sentences of both sides in turn, one or two shared strings of each marked."""
    rng = random.Random(7)
    count = 0
    for pair in read_pairs(path):
        anchors = verbatim(pair)
        if not anchors or max(map(len, pair)) > _MOST_CHARACTERS:
            continue
        side = rng.randrange(2)
        text = pair[side]
        for anchor in sorted(anchors[: rng.choice((1, 1, 2))], key=lambda a: -a[side].start):
            text = text[: anchor[side].start] + MARK + text[anchor[side].end :]
        yield languages[side], languages[1 - side], text
        count += 1
        if count == _SENTENCES_OF_CORPUS:
            return


def carried(source: str, marked: str, spell: Spell) -> str:
    """The text with carriers, with spaces around them where the language has none."""
    numbers = iter(range(marked.count(MARK)))
    if is_spaced(source):
        return regex.sub(MARK, lambda _: spell(next(numbers)), marked)
    spaced = regex.sub(MARK, lambda _: f" {spell(next(numbers))} ", marked)
    return " ".join(spaced.split())


def is_copied(found: str, carrier: str) -> bool:
    pattern = rf"(?<![A-Za-z0-9]){regex.escape(carrier)}(?![A-Za-z0-9])"
    return len(regex.findall(pattern, found)) == 1


def decoded(checkpoint: Checkpoint, runner: Runner, texts: list[Marked]) -> list[str]:
    tokenizer = checkpoint.tokenizer
    sentences = [
        SourceSentence(ids, checkpoint.info.decoding)
        for source, target, text in texts
        if len(ids := tokenizer.encode_source(text, target, source)) <= runner.max_source_tokens
    ]
    return [
        tokenizer.decode(finished.hypotheses[0].ids)
        for finished in translate_all(runner, sentences)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "data")
    arguments = parser.parse_args()
    sentences = marked_sentences(arguments.data)
    runners = {}
    for name in _MODELS:
        checkpoint = load_checkpoint(ROOT / "checkpoints" / name)
        runners[name] = checkpoint, make_runner(checkpoint)
    for spelling, spell in _SPELLINGS.items():
        shares = []
        for languages in (("en", "de"), ("de", "en"), ("en", "zh"), ("zh", "en")):
            name = "en-de" if "de" in languages else "zh-en"
            marked = [sentence for sentence in sentences if sentence[:2] == languages]
            texts = [(s, t, carried(s, text, spell)) for s, t, text in marked]
            found = decoded(*runners[name], texts)
            kept = [
                all(is_copied(translation, spell(n)) for n in range(text.count(MARK)))
                for (_, _, text), translation in zip(marked, found, strict=True)
            ]
            shares.append(f"{'-'.join(languages)} {sum(kept) / len(kept):6.1%} of {len(kept)}")
        print(f"{spelling:<18}", *shares, sep="  ", flush=True)


def make_runner(checkpoint: Checkpoint) -> Runner:
    return Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=64,
        max_rows=256,
        max_source_tokens=checkpoint.info.source_limit(10**6) or 256,
        max_target_tokens=256,
        precision=resolve_precision("auto", "cpu"),
        byte_ids=checkpoint.tokenizer.byte_ids(),
        copied_ids=checkpoint.tokenizer.copied_ids(),
    )


if __name__ == "__main__":
    main()
