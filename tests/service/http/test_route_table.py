"""Headers, routes and rules of paths are found in tables, as Starlette finds them one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match, Route

from service.app import create_app
from service.http.head import headers_of
from service.http.route_table import PATHS, RouteFinder
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

NAMES = st.sampled_from([b"host", b"origin", b"content-type", b"x-request-id", b"accept"])
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@given(st.lists(st.tuples(NAMES, st.binary(max_size=5))))
def test_a_header_has_the_first_of_its_values(headers: list[tuple[bytes, bytes]]) -> None:
    scope = {"type": "http", "headers": headers}
    expected = Headers(scope=scope)
    found = {name.decode(): value.decode("latin-1") for name, value in headers_of(scope).items()}
    assert found == {name: expected[name] for name in expected}


@pytest.fixture(scope="module")
def routes() -> list[BaseRoute]:
    return create_app(Settings(), [fake_model(FakeRunner())]).router.routes


def test_a_path_in_the_table_leads_to_the_route_that_the_router_takes(
    routes: list[BaseRoute],
) -> None:
    finder = RouteFinder(create_app(Settings(), [fake_model(FakeRunner())]).router)
    paths = {path for _, path in finder.routes}
    assert paths >= PATHS.work
    for path in paths | {route.path for route in routes if isinstance(route, Route)}:
        for method in METHODS:
            scope = {"type": "http", "method": method, "path": path, "root_path": ""}
            full = [route for route in routes if route.matches(scope)[0] is Match.FULL]
            found = finder.routes.get((method, path))
            if found is None:
                assert all(isinstance(one, Route) and one.param_convertors for one in full)
            else:
                assert isinstance(first := full[0], Route)
                assert (found.path, found.methods) == (first.path, first.methods)


def test_what_holds_for_a_path_does_not_depend_on_whether_it_is_kept() -> None:
    for path in (*PATHS.named, *PATHS.named_below, "/nowhere", "/page/x.js", "/glossaries/x"):
        rules = PATHS.rules(path)
        assert rules.is_open == PATHS.is_open(path)
        assert rules.is_linked >= rules.is_open
        assert rules.label in {*PATHS.named, *PATHS.named_below, "other"}
        assert (rules.label == "other") == (
            path not in PATHS.named and not path.startswith(PATHS.named_below)
        )
