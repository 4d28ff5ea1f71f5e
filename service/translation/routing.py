"""Find the models for a pair of languages; a pair that no model has goes through English."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from model.text.languages import Languages, shown_pairs
from service.errors import InvalidField, UnsupportedLanguage, shown
from service.translation.glossary import Glossary
from service.translation.translator import Translator

_PIVOT = "en"


class Hop(NamedTuple):
    """One model's part of a route, in its own language codes."""

    translator: Translator
    source: str
    target: str


Route = tuple[Hop, ...]


def require_route(source: str, target: str, translators: Sequence[Translator]) -> Route:
    """As `find_route`, but raises UnsupportedLanguage."""
    if route := find_route(source, target, translators):
        return route
    require_known("source", source, translators)
    require_known("target", target, translators)
    pairs = shown_pairs(sorted({pair for t in translators for pair in t.pairs}))
    raise UnsupportedLanguage(f"cannot translate {source} to {target}; supported: {pairs}")


def find_route(source: str, target: str, translators: Sequence[Translator]) -> Route | None:
    """The first model that has the pair; else the first two that have it through English."""
    for translator in translators:
        if hop := _hop(translator, source, target):
            return (hop,)
    for first in translators:
        if not (there := _hop(first, source, _PIVOT)) or there.source == there.target:
            continue
        for second in translators:
            onward = _hop(second, _PIVOT, target)
            if onward and onward.source != onward.target:
                return there, onward
    return None


def require_glossary(glossary: Glossary, route: Route) -> None:
    """Raise InvalidField if the route goes through another language, or if the glossary is for
    another pair. Between a language and itself nothing is translated."""
    source, target = route[-1].source, route[-1].target
    if source == target or not glossary.entries:
        return
    if len(route) > 1:
        raise InvalidField(
            f"glossary cannot be used from {route[0].source} to {target}, "
            f"because that goes through {source}"
        )
    if glossary.pair is not None:
        own = tuple(Languages([source, target], {}).find(code) for code in glossary.pair)
        if own != (source, target):
            raise InvalidField(
                f"glossary {glossary.name} is for {' to '.join(glossary.pair)}, "
                f"not for {source} to {target}"
            )


def require_known(field: str, code: str, translators: Sequence[Translator]) -> str:
    """The first model's own code for the language; UnsupportedLanguage if all lack it."""
    for translator in translators:
        if found := translator.find(code):
            return found
    known = distinct(language for t in translators for language in t.languages)
    allowed = ["auto", *known] if field == "source" else known
    raise UnsupportedLanguage(
        f"{field} language {shown(code)} is not supported; supported: {', '.join(allowed)}",
        code,
    )


def unsupported_source(code: str | None, known: Iterable[str]) -> UnsupportedLanguage:
    """The error for texts in a language that was detected and that no model has."""
    return UnsupportedLanguage(
        f"the text seems to be in {code}, which is not supported; supported: {', '.join(known)}",
        code,
        is_detected=True,
    )


def named(model: str, translators: Sequence[Translator]) -> list[Translator]:
    """The model of that name; raises InvalidField."""
    chosen = [translator for translator in translators if translator.name == model]
    if not chosen:
        names = ", ".join(translator.name for translator in translators)
        raise InvalidField(f"model must be one of {names}, got {shown(model)}")
    return chosen


def distinct(codes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(codes))


def _hop(translator: Translator, source: str, target: str) -> Hop | None:
    """None if the model lacks the pair. Any model has the pair of a language with itself."""
    own = translator.find(source), translator.find(target)
    if own[0] is None or own[1] is None:
        return None
    is_possible = own[0] == own[1] or translator.can_translate(own[0], own[1])
    return Hop(translator, own[0], own[1]) if is_possible else None
