"""Prove at start that a GPU translates: recorded steps against the plain PyTorch path.

A GPU, its driver and PyTorch's kernels differ from machine to machine, and no test of ours ran on
this one. A path that fails or disagrees here is switched off before it serves a user.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import date

from babel import Locale, UnknownLocaleError
from babel.dates import format_date

from model.backends.device_lost import DeviceLost
from model.backends.selection import Backend
from model.checkpoint import StoredCheckpoint
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.offline import translate_all
from model.runner import Runner

_logger = logging.getLogger(__name__)
RECORDED_STEPS = "recorded_steps"
_LOG_PROB_TOLERANCE = 0.1
"""Allowed difference of a token's log-probability. Both paths round alike, but not in the same
order; half precision differs by about 0.01."""
_SCORE_TOLERANCE = 0.02
"""Allowed difference of the scores of two translations of a sentence."""
_DIFFERENT_SHARE = 0.25
"""Allowed share of different translations: two may be as good as each other to rounding."""
_LANGUAGE, _TERRITORY, _DAY = "is", "KE", date(2024, 2, 29)
MOST_SENTENCES = 4
MOST_SOURCE_TOKENS = 32
"""Of the built-in sentences."""
_ROUNDS = 3
"""A shape is run, then recorded, then replayed."""


def built_in_sources(checkpoint: StoredCheckpoint) -> list[tuple[list[int], list[int]]]:
    """Source ids of a short sentence in some of a checkpoint's languages, and the tag that its
    translation begins with."""
    info, tokenizer = checkpoint.info, checkpoint.tokenizer
    limit = info.source_limit(MOST_SOURCE_TOKENS)
    chosen = [info.pairs[i * len(info.pairs) // MOST_SENTENCES] for i in range(MOST_SENTENCES)]
    return [
        (
            tokenizer.encode_source(sample_text(source), target, source)[:limit],
            tokenizer.target_start(target),
        )
        for source, target in dict.fromkeys(chosen)
    ]


def sample_text(language: str) -> str:
    """A language, a country and a date in the language's words, or in English if they are unknown.
    A model is less sure of names than of a date alone, so that wrong weights change more."""
    try:
        locale = Locale.parse(language.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        locale = Locale("en")
    named = (locale.languages.get(_LANGUAGE), locale.territories.get(_TERRITORY))
    return ", ".join([*filter(None, named), format_date(_DAY, format="full", locale=locale)])


def proof_sentences(
    sources: Sequence[tuple[Sequence[int], Sequence[int]]], decoding: DecodingOptions
) -> list[SourceSentence]:
    """Sentences to translate, from source ids and the tags that their translations begin with:
    each greedily, by a beam of 4 and streamed, and by the checkpoint's own options."""
    usual = [DecodingOptions(beam_size=1), DecodingOptions(beam_size=4)]
    if not decoding.sampling:
        usual.append(decoding)
    return [
        SourceSentence(list(ids), options, is_streamed=options.beam_size > 1, prefix=list(prefix))
        for ids, prefix in sources
        for options in usual
    ]


def proven_runner(
    make: Callable[[Backend | None], Runner],
    backend: Backend | None,
    warm_up: Callable[[Runner], None],
    prove: Callable[[Runner], str | None],
) -> Runner:
    """A runner that is warmed up and has proved itself.

    `prove` returns what is wrong with a runner, if anything is. If recorded steps fail or are wrong
    on this GPU, a `backend` of None falls back to "eager"; an explicit one raises RuntimeError.
    """
    runner = make(backend)
    try:
        warm_up(runner)
        fault = prove(runner) if runner.is_recorded else None
    except DeviceLost:
        raise
    except RuntimeError as error:
        fault = str(error).partition("\n")[0]
    if fault is None:
        return runner
    if backend is not None:
        raise RuntimeError(f"recorded steps do not work here: {fault}")
    _logger.warning("recorded steps are switched off here, which is slower: %s", fault)
    del runner
    runner = make("eager")
    runner.refused_paths = (RECORDED_STEPS,)
    return runner


def fault_of(
    runner: Runner, sentences: Sequence[SourceSentence], plain: Sequence[Finished]
) -> str | None:
    """The fault of a runner's translations, compared with those of the plain path.

    The runner must be idle. Translates all three times, so that recorded steps are replayed."""
    for _ in range(_ROUNDS):
        num_different = 0
        for expected, found in zip(plain, translate_all(runner, sentences), strict=True):
            if expected.error:
                continue  # the plain path fails here too
            if fault := _difference(expected, found):
                return fault
            num_different += expected.hypotheses[0].ids != found.hypotheses[0].ids
        if num_different > _DIFFERENT_SHARE * len(plain):
            return f"{num_different} of {len(plain)} built-in sentences are translated otherwise"
    return None


def _difference(expected: Finished, found: Finished) -> str | None:
    if found.error:
        return f"a built-in sentence failed: {found.error}"
    ours, theirs = found.hypotheses[0], expected.hypotheses[0]
    if abs(ours.score - theirs.score) > _SCORE_TOLERANCE:
        return f"a built-in sentence scores {ours.score:.3f} instead of {theirs.score:.3f}"
    if ours.ids != theirs.ids:
        return None
    pairs = zip(ours.log_probs, theirs.log_probs, strict=True)
    most = max((abs(our - their) for our, their in pairs), default=0.0)
    if most <= _LOG_PROB_TOLERANCE:
        return None
    return f"log-probabilities of a built-in sentence differ by {most:.2f}"


def proven_precision(
    wanted: Sequence[Precision], translate: Callable[[Precision], Sequence[Finished]]
) -> Precision:
    """The first precision in which no built-in sentence overflows; the last if all overflow.

    `translate` translates the sentences by the plain path."""
    for precision in wanted[:-1]:
        if not any(result.error for result in translate(precision)):
            return precision
        _logger.warning("the model overflows in %s; the next precision is tried", precision)
    return wanted[-1]
