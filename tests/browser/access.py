"""Keys and limits of a real server, and what the page tells of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.browser.actions import (
    expect_translation,
    open_tab,
    requests_in,
    sent_messages,
    visit,
    write,
)
from tests.browser.conftest import Site
from tests.service.fakes import until

WRONG = "drg_0123456789ab_" + "0" * 48


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "server.db"


@pytest.fixture
def store(database: Path) -> Iterator[KeyStore]:
    """Another process's connection to the server's database."""
    with closing(KeyStore(database)) as store:
        yield store


@pytest.fixture
def key(store: KeyStore) -> str:
    """A valid key, made before the server starts."""
    return store.create(KeyOptions())[0]


@pytest.fixture
def small_key(store: KeyStore) -> str:
    """A key with a quota of eight characters a month."""
    return store.create(KeyOptions(characters_per_month=8))[0]


@pytest.fixture
def keyed(make_site: Callable[..., Site], database: Path, key: str, small_key: str) -> Site:
    """A server that translates nothing without a key."""
    return make_site(database=database, api_keys="required")


def enter_key(page: Page, key: str) -> None:
    page.locator("#key-field").fill(key)
    page.keyboard.press("Enter")


def test_a_key_is_asked_for_and_a_wrong_one_is_refused(page: Page, keyed: Site, key: str) -> None:
    visit(page, keyed)
    write(page, "hello")
    note = page.locator("#key-note")
    expect(note).to_contain_text("asks for an API key")
    for wrong in ("wrong", WRONG, "<img src=x>", "ключ"):
        enter_key(page, wrong)
        expect(note).to_contain_text("does not know this key")
        expect(page.locator("#key-field")).to_have_attribute("aria-invalid", "true")
    enter_key(page, f" {key} ")
    expect_translation(page, "HELLO")
    expect(page.locator("#key")).to_be_hidden()
    expect(page.locator("#source")).to_be_focused()


def test_an_empty_key_is_not_sent(page: Page, keyed: Site) -> None:
    sent = sent_messages(page)
    visit(page, keyed)
    write(page, "hello")
    expect(page.locator("#key")).to_be_visible()
    count = len(sent)
    page.locator("#key button").click()
    page.wait_for_timeout(300)
    assert len(sent) == count
    expect(page.locator("#key")).to_be_visible()


def test_everything_that_asks_the_server_sends_the_key(page: Page, keyed: Site, key: str) -> None:
    refused: list[str] = []
    page.on("response", lambda r: refused.append(r.url) if r.status in (401, 403) else None)
    visit(page, keyed, source="en", target="zh")
    write(page, "A dog.")
    enter_key(page, key)
    expect_translation(page, "A DOG.")
    page.locator("#back").click()
    expect(page.locator("#back-text")).to_have_text("A DOG.")
    page.locator("#target .w").first.click()
    expect(page.locator("#next-words")).to_contain_text("no other words")
    open_tab(page, "model")
    expect(page.locator(".attention .scroll canvas")).to_be_visible()
    file = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"A day."}
    page.locator("#file").set_input_files([file])  # type: ignore[list-item]
    expect(page.locator("#files a")).to_be_visible()
    open_tab(page, "engine")
    expect(page.locator("#engine h3")).to_be_visible()
    assert refused == []


def test_a_key_is_kept_for_this_tab_only_and_shown_nowhere(
    page: Page, context: BrowserContext, keyed: Site, key: str
) -> None:
    visit(page, keyed)
    write(page, "hello")
    enter_key(page, key)
    expect_translation(page, "HELLO")
    open_tab(page, "request")
    expect(page.locator("#request")).to_contain_text('"api_key":"YOUR KEY"')
    page.locator("#share").click()
    expect(page.locator("#status")).to_contain_text("The link is copied")
    assert key not in page.evaluate("navigator.clipboard.readText()")
    assert key not in page.evaluate("JSON.stringify(localStorage) + document.cookie + location")
    assert key not in page.content()
    page.reload()
    write(page, "again")
    expect_translation(page, "AGAIN")
    other = context.new_page()
    visit(other, keyed)
    write(other, "hello")
    expect(other.locator("#key")).to_be_visible()


def test_a_key_that_is_revoked_is_asked_for_again(
    page: Page, keyed: Site, store: KeyStore, key: str, small_key: str
) -> None:
    visit(page, keyed)
    write(page, "hello")
    enter_key(page, key)
    expect_translation(page, "HELLO")
    (stored,) = (one for one in store.read_keys().values() if one.options == KeyOptions())
    store.revoke(stored.id)
    page.wait_for_timeout(1500)  # the server looks every second
    write(page, "revoked")
    expect(page.locator("#key-note")).to_contain_text("does not know this key")
    expect(page.locator("#target")).to_have_text("HELLO")
    enter_key(page, small_key)
    expect_translation(page, "REVOKED")
    expect(page.locator("#key")).to_be_hidden()


def test_where_keys_are_optional_only_a_wrong_one_is_refused(
    page: Page, make_site: Callable[..., Site], database: Path, key: str
) -> None:
    page.add_init_script(f"sessionStorage.setItem('dragoman.key', '{WRONG}')")
    visit(page, make_site(database=database, api_keys="optional"))
    write(page, "hello")
    expect(page.locator("#key-note")).to_contain_text("does not know this key")
    enter_key(page, key)
    expect_translation(page, "HELLO")


def retries_after(page: Page) -> list[int]:
    """The seconds after which the server lets the page try again, as they are told."""
    told: list[int] = []

    def read(frame: str | bytes) -> None:
        found = re.search(r'"retry_after":(\d+)', str(frame))
        if found:
            told.append(int(found[1]))

    page.on("websocket", lambda socket: socket.on("framereceived", read))
    return told


def shown_seconds(page: Page) -> int:
    found = re.search(r"in (\d+) s", page.locator("#status-text").text_content() or "")
    assert found
    return int(found[1])


def wait_for_a_young_minute() -> None:
    """Windows of a minute begin with the minute; at its end a limit lasts only for a moment."""
    if (second := time.time() % 60) > 40:
        time.sleep(60 - second)


def test_a_limit_is_told_and_waited_for_as_long_as_the_server_says(
    page: Page, make_site: Callable[..., Site]
) -> None:
    wait_for_a_young_minute()
    sent, told = sent_messages(page), retries_after(page)
    visit(page, make_site(requests_per_minute=3))  # the connection counts too
    for text in ("one", "two"):
        write(page, text)
        expect_translation(page, text.upper())
    write(page, "three")
    status = page.locator("#status-text")
    expect(status).to_contain_text("Slowdown: 3 requests per minute")
    expect(status).to_contain_text("Trying again in")
    assert shown_seconds(page) >= told[0] - 1 > 1
    count = len(requests_in(sent))
    write(page, "four")
    page.wait_for_timeout(2500)
    assert len(requests_in(sent)) == count
    expect(page.locator("#target")).to_have_text("TWO")
    page.locator("#retry").click()
    until(lambda: page.wait_for_timeout(50) is None and len(told) == 2)
    assert requests_in(sent)[-1]["q"] == "four"


def test_two_tabs_of_one_who_may_ask_once_at_a_time_both_come_through(
    page: Page, context: BrowserContext, make_site: Callable[..., Site]
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
    page: Page, keyed: Site, small_key: str
) -> None:
    sent: list[dict[str, Any]] = sent_messages(page)
    visit(page, keyed)
    write(page, "hello")
    enter_key(page, small_key)
    expect_translation(page, "HELLO")
    write(page, "hello again")
    expect(page.locator("#status")).to_contain_text("The server refuses this")
    expect(page.locator("#status")).to_contain_text("8 characters")
    count = len(sent)
    page.wait_for_timeout(2500)
    assert len(sent) == count


def test_a_limit_is_waited_for_where_no_websocket_comes_through_too(
    page: Page, make_site: Callable[..., Site]
) -> None:
    page.add_init_script(
        "window.WebSocket = class extends WebSocket { constructor(u) { super(u + '/nowhere') } }"
    )
    visit(page, make_site(requests_per_minute=6))
    write(page, "one")
    expect(page.locator("#target")).to_have_text("ONE", timeout=20_000)
    for number in range(8):
        write(page, f"more {number}")
        page.wait_for_timeout(200)
    expect(page.locator("#status-text")).to_contain_text("Slowdown: 6 requests per minute")
    assert shown_seconds(page) > 1
