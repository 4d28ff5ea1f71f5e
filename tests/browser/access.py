"""Keys and limits of a real server, and what the page tells of them."""

from __future__ import annotations

import itertools
import re
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.browser.actions import choose, expect_translation, open_tab, translate, visit, write
from tests.browser.conftest import MakeSite, Site
from tests.service.fakes import until

WRONG = "drg_0123456789ab_" + "0" * 48


@pytest.fixture
def keys(tmp_path: Path) -> tuple[str, str]:
    """Two valid keys; the second has a quota of eight characters a month."""
    with closing(KeyStore(tmp_path / "server.db")) as store:
        options = KeyOptions(), KeyOptions(characters_per_month=8)
        return store.create(options[0])[0], store.create(options[1])[0]


@pytest.fixture
def keyed(make_site: MakeSite, tmp_path: Path, keys: tuple[str, str]) -> Site:
    """A server that translates nothing without a key."""
    return make_site(database=tmp_path / "server.db", api_keys="required")


def enter_key(page: Page, key: str) -> None:
    page.locator("#key-field").fill(key)
    page.keyboard.press("Enter")


def test_a_key_is_asked_for_and_a_wrong_one_is_refused(
    page: Page, keyed: Site, keys: tuple[str, str]
) -> None:
    visit(page, keyed)
    write(page, "hello")
    note = page.locator("#key-note")
    expect(note).to_contain_text("asks for an API key")
    for wrong in ("wrong", WRONG, "<img src=x>", "ключ"):
        enter_key(page, wrong)
        expect(note).to_contain_text("does not know this key")
        expect(page.locator("#key-field")).to_have_attribute("aria-invalid", "true")
    enter_key(page, f" {keys[0]} ")
    expect_translation(page, "HELLO")
    expect(page.locator("#key")).to_be_hidden()
    expect(page.locator("#source")).to_be_focused()


def test_everything_that_asks_the_server_sends_the_key(
    page: Page, keyed: Site, keys: tuple[str, str]
) -> None:
    refused: list[str] = []
    page.on("response", lambda r: refused.append(r.url) if r.status in (401, 403) else None)
    visit(page, keyed, source="en", target="zh")
    write(page, "A dog.")
    enter_key(page, keys[0])
    expect_translation(page, "A DOG.")
    page.locator("#back").click()
    expect(page.locator("#back-text")).to_have_text("A DOG.")
    page.locator("#target .w").first.click()
    expect(page.locator("#next-words")).to_contain_text("no other words")
    open_tab(page, "model")
    expect(page.locator(".attention .scroll canvas")).to_be_visible()
    choose(page, ("a.txt", b"A day."))
    expect(page.locator("#files a")).to_be_visible()
    open_tab(page, "engine")
    expect(page.locator("#engine h3")).to_be_visible()
    assert refused == []


def test_a_key_is_kept_for_this_tab_only_and_shown_nowhere(
    page: Page, context: BrowserContext, keyed: Site, keys: tuple[str, str]
) -> None:
    visit(page, keyed)
    write(page, "hello")
    enter_key(page, keys[0])
    expect_translation(page, "HELLO")
    open_tab(page, "request")
    expect(page.locator("#request")).to_contain_text('"api_key":"YOUR KEY"')
    page.locator("#share").click()
    expect(page.locator("#status")).to_contain_text("The link is copied")
    assert keys[0] not in page.evaluate("navigator.clipboard.readText()")
    assert keys[0] not in page.evaluate("JSON.stringify(localStorage) + document.cookie + location")
    assert keys[0] not in page.content()
    page.reload()
    translate(page, "again")
    other = context.new_page()
    visit(other, keyed)
    write(other, "hello")
    expect(other.locator("#key")).to_be_visible()


def test_a_limit_is_told_with_the_time_to_wait(page: Page, make_site: MakeSite) -> None:
    """Some requests may fall into the next minute."""
    visit(page, make_site(requests_per_minute=3))
    status, numbers = page.locator("#status-text"), itertools.count()

    def is_limited() -> bool:
        write(page, f"text {next(numbers)}")
        page.wait_for_timeout(100)
        return "Slowdown: 3 requests per minute" in (status.text_content() or "")

    until(is_limited)
    expect(status).to_contain_text(re.compile(r"Trying again in \d+ s"))


def test_two_tabs_of_one_who_may_ask_once_at_a_time_both_come_through(
    page: Page, context: BrowserContext, make_site: MakeSite
) -> None:
    site = make_site(concurrent_requests=1)
    other = context.new_page()
    visit(page, site)
    visit(other, site)
    site.runner.gate.clear()
    write(page, "first")
    until(lambda: site.runner.is_stepping.is_set())
    write(other, "second")
    expect(other.locator("#status")).to_contain_text("1 requests at the same time")
    site.runner.gate.set()
    expect_translation(page, "FIRST")
    expect_translation(other, "SECOND")
    expect(other.locator("#status")).to_be_hidden()


def test_a_quota_that_is_used_up_is_told_and_not_tried_again(
    page: Page, keyed: Site, keys: tuple[str, str]
) -> None:
    visit(page, keyed)
    write(page, "hello")
    enter_key(page, keys[1])
    expect_translation(page, "HELLO")
    write(page, "hello again")
    expect(page.locator("#status")).to_contain_text("The server refuses this")
    expect(page.locator("#status")).to_contain_text("8 characters")
