"""What markup and placeholders cost a plain text, without a network.

    python -m benchmarks.text_layer --data data

prepares and renders plain dev sentences, one text each: by the server's way (tags and kept strings
looked for, verified and put back), and without (cut, tokenise, decode, join). It prints the
CPU time of each a text, and for comparison that of whole translations, network included.
"""

from __future__ import annotations

import argparse
import functools
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.checks import dev_pairs
from benchmarks.sentences import ROOT
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis
from service.engine.interfaces import SourceEncoder
from service.engine.sentence_task import SentenceOutcome, SentenceTimes
from service.loading import LoadedModel, load_models
from service.offline import OfflineOptions, OfflineTranslator
from service.settings import Settings, read_settings
from service.translation.assembly import Assembly
from service.translation.job import ModelJob
from service.translation.language.segmentation import cut_text
from service.translation.placeholders import find_kept
from service.translation.preparation import Preparation
from service.translation.text.carriers import CarriedText, MarkedTranslation
from service.translation.text.document import Document, MarkedSentence
from service.translation.text.reading import PlannedSentence, Reader, Reading
from service.translation.text.unspelled import find_unspelled

_FEW = 200
_MAX_BEAM_SIZE = 16
_TIMES = SentenceTimes(0.0, 0.0, 0.0, 0.0)


def is_plain(text: str, model: LoadedModel, language: str) -> bool:
    kept = find_kept(text, (), find_unspelled(text, model.tokenizer, language))
    return not kept and "<" not in text and not text.isupper()


def by_layer(
    model: LoadedModel, source: str, target: str, texts: Sequence[str], ids: Sequence[list[int]]
) -> None:
    """Prepare and render each text as the server does; `ids` are those of its translation."""
    preparation = Preparation(model.tokenizer, model.max_source_tokens, 256, _MAX_BEAM_SIZE)
    reader = Reader(model.tokenizer, source, target)
    assembly = Assembly(model.name, model.tokenizer, {})
    options = DecodingOptions()
    for text, found in zip(texts, ids, strict=True):
        work = ModelJob([text], source, target, options, [0], [None], [None])
        prepared = preparation.prepare(work)
        outcome = SentenceOutcome([Hypothesis(found, [], 0.0, "stop")], None, _TIMES)
        readings = [reader.read(one, [outcome]) for one in prepared.planned]
        assembly.results(work, prepared.documents, [one for one in readings if one is not None])


def without_layer(
    model: LoadedModel, source: str, target: str, texts: Sequence[str], ids: Sequence[list[int]]
) -> None:
    """The same records, made from the cut text alone."""
    preparation = Preparation(model.tokenizer, model.max_source_tokens, 256, _MAX_BEAM_SIZE)
    assembly = Assembly(model.name, model.tokenizer, {})
    options = DecodingOptions()
    for text, found in zip(texts, ids, strict=True):
        work = ModelJob([text], source, target, options, [0], [None], [None])
        encoder = SourceEncoder(model.tokenizer, source, target, model.max_source_tokens)
        pieces = cut_text(text, source, model.max_source_tokens, encoder.count)
        items = [MarkedSentence(p.text) if p.is_sentence else p.text for p in pieces]
        document = Document(items)
        planned = [PlannedSentence(one, [CarriedText(one.text)]) for one in document.units]
        preparation.tokenised(work, planned, encoder, is_streamed=False)
        best = Hypothesis(found, [], 0.0, "stop")
        readings = [
            Reading(one, [MarkedTranslation(model.tokenizer.decode(found))], best, _TIMES)
            for one in document.units
        ]
        assembly.results(work, [document], readings)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "data")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    paths = [ROOT / "checkpoints" / name for name in ("zh-en", "en-de")]
    models = load_models(read_settings(Settings, {"model": paths, "device": "cpu"}))
    with OfflineTranslator(paths, OfflineOptions("cpu", "int8", max_slots=64)) as translator:
        for model in models:
            for source, target in model.pairs:
                compare(translator, model, (source, target), chosen)


def compare(
    translator: OfflineTranslator,
    model: LoadedModel,
    pair: tuple[str, str],
    chosen: argparse.Namespace,
) -> None:
    """Print the CPU times of one direction: medians of the rounds."""
    pairs = dev_pairs(chosen.data, *pair, 4 * chosen.count)
    random.Random(1).shuffle(pairs)
    plain = [one for one in pairs if is_plain(one[0], model, pair[0])][: chosen.count]
    texts = [text for text, _ in plain]
    ids = model.tokenizer.encode_target_batch([answer for _, answer in plain])
    whole = seconds_of(lambda: translator.translate_all(texts[:_FEW], *pair)) / _FEW
    ways = {"with": by_layer, "without": without_layer}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(chosen.rounds):
        for name, way in ways.items():
            used = seconds_of(functools.partial(way, model, *pair, texts, ids))
            times[name].append(used / len(texts))
    on, off = (statistics.median(times[name]) for name in ways)
    print(
        f"{'-'.join(pair)}: {len(texts)} texts, {1e6 * on:.0f} us with the layer, "
        f"{1e6 * off:.0f} us without; a translation {1e6 * whole:.0f} us; "
        f"the layer is {100 * (on - off) / whole:.1f} %",
        flush=True,
    )


if __name__ == "__main__":
    main()
