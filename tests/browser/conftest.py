"""A real Chromium and a real server, which computes with the fake runner: tests hold its steps.

Playwright is imported by the fixtures, because plain test runs do not have it.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from fastapi import FastAPI

from service.app import create_app
from service.server import uvicorn_config
from service.settings import Settings
from tests.service.fakes import PAIRS, FakeRunner, fake_model, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@dataclass
class Site:
    """A server in a thread, which can be stopped and started again on its port."""

    settings: dict[str, Any]
    runner: FakeRunner = field(default_factory=FakeRunner)
    port: int = 0
    pairs: Sequence[tuple[str, str]] = PAIRS

    def start(self) -> None:
        settings = Settings(**self.settings)
        model = fake_model(self.runner, pairs=self.pairs)
        self.app: FastAPI = create_app(settings, [model])
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._server = uvicorn.Server(uvicorn_config(self.app, 2**20))
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],))
        self._thread.start()
        until(lambda: self._server.started)

    def stop(self) -> None:
        """As uvicorn stops: websockets are closed with 1012."""
        self.runner.gate.set()
        self._server.should_exit = True
        self._thread.join(timeout=60)
        self._listener.close()

    def cut_connections(self) -> None:
        """As a lost network or a killed process ends them: without a word."""
        connections = self._server.server_state.connections
        loop = self._server.servers[0].get_loop()
        loop.call_soon_threadsafe(lambda: [one.transport.abort() for one in connections])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def count(self, line: str) -> float:
        """The value of a metric that is written as `line`; 0 before it was counted."""
        rows = self.app.state.server.metrics.render().decode().splitlines()
        return sum(float(row.split()[-1]) for row in rows if row.startswith(line))


@pytest.fixture
def make_site() -> Iterator[Callable[..., Site]]:
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
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()


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
