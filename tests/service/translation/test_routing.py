"""The rule by which models are chosen for a pair."""

from __future__ import annotations

import time

import pytest

from model.decoding.options import DecodingOptions
from model.text.languages import every_pair
from service.errors import InvalidField, UnsupportedLanguage
from service.translation.routing import OfferedModel, Routes


def offered(name: str, *pairs: str, work: int = 10) -> OfferedModel:
    """A model with pairs such as "de-en"."""
    split = [(pair.split("-")[0], pair.split("-")[1]) for pair in pairs]
    return OfferedModel(name, split, {"zho_Hans": "zh"}, DecodingOptions(), work)


def names(routes: Routes, source: str, target: str) -> list[str]:
    """The models of the route, and the languages on the way."""
    route = routes.require(source, target)
    return [f"{hop.model.name}:{hop.source}-{hop.target}" for hop in route]


def test_the_first_model_that_has_the_pair_translates_it() -> None:
    routes = Routes([offered("a", "de-en"), offered("b", "de-en", "de-fr", work=1)])
    assert names(routes, "de", "en") == ["a:de-en"]
    assert names(routes, "de-AT", "fr") == ["b:de-fr"]
    assert names(routes.of("b"), "de", "en") == ["b:de-en"]


def test_two_models_with_the_least_work_have_the_halves() -> None:
    models = [
        offered("de-en", "de-en", work=50),
        offered("en-pt", "en-pt", work=50),
        offered("de-es", "de-es"),
        offered("es-pt", "es-pt"),
    ]
    assert names(Routes(models), "de", "pt") == ["de-es:de-es", "es-pt:es-pt"]
    assert names(Routes(models[:2]), "de", "pt") == ["de-en:de-en", "en-pt:en-pt"]


@pytest.mark.parametrize("works", [(50, 10), (10, 50)])
def test_the_work_of_both_halves_counts(works: tuple[int, int]) -> None:
    pairs = ("de-en", "en-pt")
    costly = [offered(pair, pair, work=work) for pair, work in zip(pairs, works, strict=True)]
    other = [offered(pair, pair, work=20) for pair in ("de-es", "es-pt")]
    assert names(Routes([*costly, *other]), "de", "pt") == ["de-es:de-es", "es-pt:es-pt"]


def test_with_equal_work_the_way_goes_through_english_and_else_to_the_first_models() -> None:
    ways = [offered(f"de-{x}", f"de-{x}") for x in ("es", "en", "fr")]
    ways += [offered(f"{x}-pt", f"{x}-pt") for x in ("es", "en", "fr")]
    assert names(Routes(ways), "de", "pt") == ["de-en:de-en", "en-pt:en-pt"]
    without = [model for model in ways if "en" not in model.name]
    assert names(Routes(without), "de", "pt") == ["de-es:de-es", "es-pt:es-pt"]


def test_languages_of_routes_are_those_that_a_route_is_found_for() -> None:
    models = [
        offered("a", "de-en", "en-de"),
        offered("b", "en-zh"),
        offered("c", "zh-ja", "pt-BR-en"),
        offered("d", "nb-en", "ja-ko"),
    ]
    routes = Routes(models)
    for source in routes.languages:
        found = [t for t in routes.languages if t != source and routes.find(source, t)]
        assert routes.targets[source] == found


def test_what_there_is_no_route_for_is_refused_with_what_there_is() -> None:
    routes = Routes([offered("a", "de-en"), offered("b", "fr-es")])
    with pytest.raises(UnsupportedLanguage, match="cannot translate de to es; supported: de to en"):
        routes.require("de", "es")
    with pytest.raises(UnsupportedLanguage, match="source language 'ru' is not supported"):
        routes.require("ru", "es")
    with pytest.raises(InvalidField, match="model must be one of a, b, got 'c'"):
        routes.of("c")


def test_hundreds_of_models_and_languages_are_routed_in_time() -> None:
    """Two hundred pairs beside a model of a hundred languages; seconds are a generous bound."""
    codes = [f"q{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    pairs = [offered(f"{code}-en", f"{code}-en", f"en-{code}") for code in codes]
    many = OfferedModel("many", every_pair(codes, codes), {}, DecodingOptions(), 100)
    started = time.process_time()
    routes = Routes([*pairs, many])
    assert len(routes.targets["qaa"]) == 100
    assert names(Routes(pairs), "qaa", "qjj") == ["qaa-en:qaa-en", "qjj-en:en-qjj"]
    assert time.process_time() - started < 20
