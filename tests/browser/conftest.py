"""A real Chromium and a real server, which computes with the fake runner: tests hold its steps.

Playwright is imported by the fixtures, because plain test runs do not have it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import PAIRS, FakeRunner, fake_model
from tests.service.served import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
MANY_LANGUAGES = "af ar bg cs da de el es fa fi fr he hi hu it ja ko nl no pl pt ro ru sd sv zh"


@dataclass
class Site:
    """A server in a thread, which can be stopped and started again on its port."""

    settings: dict[str, Any]
    runner: FakeRunner = field(default_factory=FakeRunner)
    port: int = 0
    pairs: Sequence[tuple[str, str]] = PAIRS

    def start(self) -> None:
        model = fake_model(self.runner, pairs=self.pairs)
        app = create_app(Settings(**self.settings), [model])
        self._stack = contextlib.ExitStack()
        self.served = self._stack.enter_context(served(app, port=self.port))
        self.port = self.served.port

    def stop(self) -> None:
        """As uvicorn stops: websockets are closed with 1012."""
        self.runner.gate.set()
        self._stack.close()

    def cut_connections(self) -> None:
        """As a lost network or a killed process ends them: without a word."""
        connections = self.served.server.server_state.connections
        self.served.loop.call_soon_threadsafe(
            lambda: [one.transport.abort() for one in connections]
        )

    @property
    def url(self) -> str:
        return f"{self.served.url}/"


MakeSite = Callable[..., Site]


@pytest.fixture
def make_site() -> Iterator[MakeSite]:
    """Starts servers with these settings, and stops them after the test."""
    sites: list[Site] = []

    def make(
        runner: FakeRunner | None = None,
        pairs: Sequence[tuple[str, str]] = PAIRS,
        **settings: Any,
    ) -> Site:
        site = Site(settings, runner or FakeRunner(), pairs=pairs)
        site.start()
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.stop()


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    return make_site()


@pytest.fixture
def many_languages(make_site: MakeSite) -> Site:
    """A server with more languages than one looks through."""
    return make_site(
        pairs=[pair for code in MANY_LANGUAGES.split() for pair in (("en", code), (code, "en"))]
    )


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    assert CHROMIUM, "these tests need Chromium: apt-get install chromium, or set CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser profile that asks for English and may use the clipboard."""
    context = browser.new_context(locale="en-GB", viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A tab; its scripts must not fail, nor break the content policy."""
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console",
        lambda message: faults.append(message.text) if "Policy" in message.text else None,
    )
    yield page
    assert faults == []
