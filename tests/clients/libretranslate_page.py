"""LibreTranslate's own page in Chromium, with this server behind it.

Its wheel holds the page's templates and scripts. Flask would render them; here Jinja does.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jinja2 import Environment, FileSystemLoader
from playwright.sync_api import Page, sync_playwright
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from service.app import create_app
from service.settings import Settings
from tests.clients.conftest import PAIRS
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import Served, served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
GERMAN = "Das ist ein Satz in deutscher Sprache."
POLICY = {"content-security-policy": "default-src 'self' 'unsafe-inline' 'unsafe-eval' data:"}
"""Elsewhere the page comes from a server of its own; ours lets pages do nothing."""
VARIABLES = {"web_version": False, "version": "test", "api_keys": False, "current_locale": "en"}


def _text(text: str, **values: str) -> str:
    return text % values if values else text


def _url_for(endpoint: str, filename: str = "") -> str:
    return f"/static/{filename}" if endpoint == "static" else "/"


def page_routes(package: Path) -> list[Route | Mount]:
    """The page, its script and its static files."""
    environment = Environment(loader=FileSystemLoader(package / "templates"), autoescape=False)
    environment.globals |= {
        "_": _text,
        "_h": _text,
        "_e": lambda text, **values: json.dumps(_text(text, **values)),
        "url_for": _url_for,
    }

    def rendered(name: str, media_type: str) -> Any:
        content = environment.get_template(name).render(VARIABLES, url_prefix="", api_secret="")

        async def answer(_: Request) -> Response:
            return Response(content, media_type=media_type, headers=POLICY)

        return answer

    return [
        Route("/", rendered("index.html", "text/html")),
        Route("/js/app.js", rendered("app.js.template", "application/javascript")),
        Mount("/static", StaticFiles(directory=package / "static")),
    ]


@pytest.fixture(scope="module")
def page_server(libretranslate: Path) -> Iterator[Served]:
    runner = FakeRunner(max_source_tokens=200)
    app = create_app(Settings(), [fake_model(runner, pairs=PAIRS)])
    app.router.routes[:0] = page_routes(libretranslate)
    with served(app) as server:
        yield server


@pytest.fixture
def page(page_server: Served) -> Iterator[Page]:
    """The page, loaded; an error that it logs fails the test."""
    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_server.url)
        page.wait_for_selector("#textarea1")
        yield page
        browser.close()
    assert errors == []


def test_a_text_is_detected_and_translated(page: Page) -> None:
    page.locator("select[aria-labelledby]").nth(1).select_option("en")
    page.fill("#textarea1", GERMAN)
    page.wait_for_function(f"document.querySelector('#textarea2').value == '{GERMAN.upper()}'")
    assert ": German (" in page.locator(".language-select").nth(0).inner_text()


@pytest.mark.parametrize("language", ["es", "zh"])
def test_languages_can_be_chosen(page: Page, language: str) -> None:
    """Chinese is zh here, zh-Hans in LibreTranslate: the page takes the codes that are listed."""
    source, target = page.locator("select[aria-labelledby]").all()
    source.select_option("en")
    target.select_option(language)
    page.fill("#textarea1", "Hi.")
    page.wait_for_function("document.querySelector('#textarea2').value == 'HI.'")


def test_a_file_is_translated(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Where is the library?\n", encoding="utf-8")
    page.locator("select[aria-labelledby]").nth(0).select_option("en")
    page.locator("select[aria-labelledby]").nth(1).select_option("de")
    page.click("text=Translate Files")
    page.set_input_files("input[type=file]", file)
    page.click("button:has-text('Translate'):not(.btn-switch-type)")
    page.wait_for_selector("a:has-text('Download')")
    url = page.get_attribute("a.btn:has-text('Download')", "href")
    assert url is not None
    assert httpx.get(url).text == "WHERE IS THE LIBRARY?\n"
