"""Find the models for a pair of languages; a pair that no model has goes through another language.

The first model that has the pair takes it. Without one, the two models take it that together need
the least work for a token; of equal ones, those that go through English. Which models are in memory
does not count, so a translation does not depend on what others translate.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from model.decoding.options import DecodingOptions
from model.text.languages import Languages, shown_pairs
from service.errors import InvalidField, UnsupportedLanguage, shown
from service.translation.glossary import Glossary
from service.translation.job import AUTO
from service.translation.language.chinese import SIMPLIFIED, with_traditional

_PIVOT = "en"
_MOST_FOUND = 4096
_MOST_TOLD, _MOST_CODE_CHARACTERS = 10, 64
"""Of what a message lists, and of what it is to be near to."""


class OfferedModel:
    """The languages of a model, which may or may not be in memory. `work`: the weights that
    multiply every token."""

    def __init__(
        self,
        name: str,
        pairs: Sequence[tuple[str, str]],
        own_codes: Mapping[str, str],
        decoding: DecodingOptions,
        work: int = 0,
    ) -> None:
        self.name, self.decoding, self.work = name, decoding, work
        known = {code for pair in pairs for code in pair}
        pairs = with_traditional(pairs)
        self.pairs = frozenset(pairs)
        self.sources = distinct(source for source, _ in pairs)
        self.languages = distinct([*self.sources, *(target for _, target in pairs)])
        self.network_codes = {one: one if one in known else SIMPLIFIED for one in self.languages}
        """What the network knows of each language: of traditional Chinese maybe the simplified."""
        self._known = Languages(self.languages, own_codes)

    def find(self, code: str) -> str | None:
        """The model's own code for a language in any spelling, or None."""
        return self._known.find(code)

    @functools.cached_property
    def targets_of(self) -> Mapping[str, Sequence[str]]:
        """The targets of each source, in the model's own codes."""
        found: dict[str, list[str]] = {}
        for source, target in sorted(self.pairs):
            found.setdefault(source, []).append(target)
        return found

    def hop(self, source: str, target: str) -> Hop | None:
        """None if the model lacks the pair. Any model has the pair of a language with itself."""
        own = self.find(source), self.find(target)
        if own[0] is None or own[1] is None:
            return None
        is_possible = own[0] == own[1] or (own[0], own[1]) in self.pairs
        return Hop(self, own[0], own[1]) if is_possible else None


class Hop(NamedTuple):
    """One model's part of a route, in its own language codes."""

    model: OfferedModel
    source: str
    target: str


Route = tuple[Hop, ...]


class Routes:
    """The routes over the models. The first model that has a pair translates it."""

    def __init__(self, models: Sequence[OfferedModel]) -> None:
        self.models = list(models)
        self.languages = distinct(code for model in models for code in model.languages)
        self.sources = distinct(code for model in models for code in model.sources)
        find = functools.partial(_find_route, self.models)
        self.find = functools.lru_cache(_MOST_FOUND)(find)
        """The route between two languages in any spelling, or None."""

    def of(self, model: str | None) -> Routes:
        """Those over the model of that name, or all for None. Raises InvalidField."""
        if model is None:
            return self
        chosen = [offered for offered in self.models if offered.name == model]
        if not chosen:
            names = shown_nearest(model, [offered.name for offered in self.models], "GET /models")
            raise InvalidField(f"model must be one of {names}, got {shown(model)}")
        return Routes(chosen)

    def require(self, source: str, target: str) -> Route:
        """As `find`, but raises UnsupportedLanguage."""
        if route := self.find(source, target):
            return route
        self.require_known("source", source)
        self.require_known("target", target)
        raise UnsupportedLanguage(
            f"cannot translate {source} to {target}; supported: {self._pairs_near(source, target)}"
        )

    def known(self, code: str) -> str | None:
        """The first model's own code for the language, or None."""
        return next((own for model in self.models if (own := model.find(code))), None)

    def require_known(self, field: str, code: str) -> str:
        """As `known`, but raises UnsupportedLanguage, which names the field."""
        if found := self.known(code):
            return found
        has_auto = field == "source" and code != AUTO
        allowed = ("auto, " if has_auto else "") + shown_nearest(code, self.languages)
        raise UnsupportedLanguage(
            f"{field} language {shown(code)} is not supported; supported: {allowed}", code
        )

    @functools.cached_property
    def targets(self) -> dict[str, list[str]]:
        """The other languages that each language has a route to."""
        directly = self.directly
        return {
            source: [
                target
                for target in self.languages
                if target != source
                and (target in near or any(target in directly[middle] for middle in near))
            ]
            for source, near in directly.items()
        }

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of two languages that have a route."""
        return [(source, target) for source, found in self.targets.items() for target in found]

    @functools.cached_property
    def direct_pairs(self) -> list[tuple[str, str]]:
        """The pairs of languages that one model has."""
        return [
            (source, target) for source, target in self.pairs if target in self.directly[source]
        ]

    @functools.cached_property
    def directly(self) -> dict[str, set[str]]:
        """The languages that one model translates each language into."""
        return {code: self._targets_of(code) for code in self.languages}

    def _pairs_near(self, source: str, target: str) -> str:
        """All pairs for a message; of many those with this source or this target."""
        if sum(len(model.pairs) for model in self.models) <= _MOST_TOLD:
            return shown_pairs(sorted({pair for model in self.models for pair in model.pairs}))
        found: set[str] = set()
        for model in self.models:
            own = model.find(source), model.find(target)
            near = ((a, b) for a, b in model.pairs if a == own[0] or b == own[1])
            found.update(f"{a} to {b}" for a, b in near)
        return shown_nearest(f"{source} to {target}", sorted(found))

    def _targets_of(self, source: str) -> set[str]:
        """The languages that one model translates `source` into, under all names."""
        found: set[str] = set()
        for model in self.models:
            for own in model.targets_of.get(model.find(source) or "", ()):
                found.update({own}, self._names[model, own])
        return found

    @functools.cached_property
    def _names(self) -> dict[tuple[OfferedModel, str], list[str]]:
        """The server's names for a language of a model: all codes that the model maps to it."""
        names: dict[tuple[OfferedModel, str], list[str]] = {}
        for model in self.models:
            for code in self.languages:
                if own := model.find(code):
                    names.setdefault((model, own), []).append(code)
        return names


def _find_route(models: Sequence[OfferedModel], source: str, target: str) -> Route | None:
    for model in models:
        if hop := model.hop(source, target):
            return (hop,)
    ways = list(_ways(models, source, target))
    if not ways:
        return None
    return min(ways, key=lambda way: (way[0].model.work + way[1].model.work, not _english(way)))


def _ways(models: Sequence[OfferedModel], source: str, target: str) -> Iterable[tuple[Hop, Hop]]:
    """The ways with two hops, in order of the models."""
    last = [(model, own) for model in models if (own := model.find(target))]
    for first in models:
        own_source = first.find(source) or ""
        for middle in first.targets_of.get(own_source, ()):
            for second, own_target in last:
                own = second.find(middle)
                if own and (own, own_target) in second.pairs:
                    yield Hop(first, own_source, middle), Hop(second, own, own_target)


def _english(way: tuple[Hop, Hop]) -> bool:
    return way[1].source.partition("-")[0] == _PIVOT


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


def unsupported_source(code: str | None, known: Iterable[str]) -> UnsupportedLanguage:
    """The error for texts in a language that was detected and that no model has."""
    return UnsupportedLanguage(
        f"the text seems to be in {code}, which is not supported; "
        f"supported: {shown_nearest(code or '', list(known))}",
        code,
        is_detected=True,
    )


def shown_nearest(given: str, names: Sequence[str], where: str = "GET /languages") -> str:
    """Names for a message: all, or of many those that are most alike; `where` all are told."""
    if len(names) <= _MOST_TOLD:
        return ", ".join(names)
    alike = difflib.get_close_matches(given[:_MOST_CODE_CHARACTERS], names, _MOST_TOLD, cutoff=0.0)
    return f"{', '.join(alike)} and {len(names) - _MOST_TOLD} more, which {where} tells"


def distinct(codes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(codes))
