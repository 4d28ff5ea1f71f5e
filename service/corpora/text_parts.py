"""Translate a text of any length in parts: many at the same time, in order, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future

from service.corpora.translations import TextTranslators, Translation, finished
from service.offline import some_ahead
from service.translation.job import AUTO

_LEAST_AHEAD = 4
_SENTENCES_OF_A_PART = 64


def translate_parts(
    translators: TextTranslators, parts: Iterable[str], source: str
) -> Iterator[str]:
    """Translate one text's parts; reads a few parts ahead.

    With "auto" the first part with a detectable language decides for the later parts. If
    reading raises, the parts read before are translated first. Raises ValueError.
    """
    remaining = iter(parts)
    while source == AUTO:
        part = next(remaining, None)
        if part is None:
            return
        text, source = _translated(translators.submit([part], source))
        yield text
    begun = (translators.submit([part], source) for part in remaining)
    for one in some_ahead(begun, max(_LEAST_AHEAD, translators.num_texts // _SENTENCES_OF_A_PART)):
        yield _translated(one)[0]


def _translated(begun: Future[list[Translation]]) -> tuple[str, str]:
    """A part's translation, and the language that was detected or "auto". Raises ValueError."""
    (found,) = finished(begun)
    if found.text is None:
        raise ValueError(found.error)
    return found.text, found.language or AUTO
