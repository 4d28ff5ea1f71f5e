"""The options of a translation: the fields of POST /translate that have a meaning in a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from service.errors import shown
from service.http.translate_request import TranslateRequest
from service.translation.glossary import Glossary, GlossaryEntry, check_entries
from service.translation.job import Inspection, SplitSentences, TextFormat, TranslationJob


class Options(TypedDict, total=False):
    """How to translate; absent options are the model's defaults."""

    beam_size: int
    length_penalty: float
    max_length: int
    repetition_penalty: float
    no_repeat_ngram_size: int
    temperature: float
    top_k: int
    top_p: float
    seed: int
    format: TextFormat
    split_sentences: SplitSentences
    keep: str | Sequence[str]
    glossary: Mapping[str, str] | Sequence[GlossaryEntry | Mapping[str, Any]]
    target_prefix: str | Sequence[str]
    preferred_languages: str | Sequence[str]
    model: str
    deadline_ms: int


class DetailOptions(Options, total=False):
    """What to tell of a translation beside: other translations, and the network's work on one
    sentence."""

    alternatives: int
    details: Inspection


def make_job(
    q: str | list[str], source: str, target: str, options: Mapping[str, Any]
) -> TranslationJob:
    """The job of a request for these texts, whose deadline begins. Raises TypeError for an unknown
    option, and InvalidField."""
    return _job(q, source, target, options, Options)


def make_detailed_job(
    q: str | list[str], source: str, target: str, options: Mapping[str, Any]
) -> TranslationJob:
    """As `make_job`, with details."""
    return _job(q, source, target, {"details": True, **options}, DetailOptions)


def _job(
    q: str | list[str], source: str, target: str, options: Mapping[str, Any], known: type
) -> TranslationJob:
    if unknown := sorted(options.keys() - known.__annotations__.keys()):
        names = ", ".join(known.__annotations__)
        raise TypeError(f"there is no option {unknown[0]}; the options are {names}")
    fields = {name: list(v) if isinstance(v, tuple) else v for name, v in options.items()}
    glossary = _glossary(fields.pop("glossary", None))
    wanted = TranslateRequest.validated({**fields, "q": q, "source": source, "target": target})
    return wanted.job(None, "", glossary)


def _glossary(terms: Any) -> Glossary | None:
    """Raises TypeError for what is no glossary, and InvalidField for a term that cannot be one."""
    if terms is None:
        return None
    try:
        pairs = terms.items() if isinstance(terms, Mapping) else terms
        entries = [_entry(pair) for pair in pairs]
        check_entries(entries, len(entries))
    except (AttributeError, TypeError):
        raise TypeError(
            "glossary must be a dict of strings, or a list of GlossaryEntry or of dicts with "
            f"source, target and case_sensitive, got {shown(terms)}"
        ) from None
    return Glossary(entries)


def _entry(term: Any) -> GlossaryEntry:
    """Raises TypeError."""
    if isinstance(term, str):
        raise TypeError("the letters of a string are no term")
    return GlossaryEntry(**term) if isinstance(term, Mapping) else GlossaryEntry(*term)
