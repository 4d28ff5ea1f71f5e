"""Rude input: strange texts and addresses, markup from everywhere, servers that hang."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, Route, WebSocketRoute, expect

from tests.browser.actions import (
    choose,
    expect_translation,
    open_tab,
    paste,
    requests_in,
    sent_messages,
    visit,
    write,
)
from tests.browser.conftest import Site
from tests.service.fakes import until

# Texts


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag 🇩🇪",
        "مرحبا hello 123 שלום (abc) ١٢٣",
    ],
)
def test_strange_text_is_typed_shown_and_followed_word_by_word(
    page: Page, site: Site, text: str
) -> None:
    """The fake runner's translation is the text in capitals."""
    visit(page, site)
    page.locator("#source").press_sequentially(text)
    expect(page.locator("#source")).to_have_value(text)
    expect(page.locator("#count")).to_have_text(f"{len(text)} of 20,000")
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "false")
    for place in range(page.locator("#target .w").count()):
        page.locator("#target .w").nth(place).focus()
        expect(page.locator("#word-note")).not_to_be_empty()
    assert "\ufffd" not in (page.locator("#target").text_content() or "")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# Input methods


@pytest.fixture
def devtools(page: Page) -> CDPSession:
    return page.context.new_cdp_session(page)


def compose(devtools: CDPSession, text: str) -> None:
    devtools.send(
        "Input.imeSetComposition",
        {"text": text, "selectionStart": len(text), "selectionEnd": len(text)},
    )


def test_nothing_is_asked_while_a_word_is_composed(
    page: Page, site: Site, devtools: CDPSession
) -> None:
    sent = sent_messages(page)
    page.clock.install()
    visit(page, site, source="zh", target="en")
    page.locator("#source").focus()
    for text in ("n", "ni", "ni h", "ni hao"):
        compose(devtools, text)
        page.clock.run_for(150)
    expect(page.locator("#source")).to_have_value("ni hao")
    expect(page.locator("#count")).to_contain_text("6 of")
    page.clock.run_for(1000)
    assert requests_in(sent) == []
    devtools.send("Input.insertText", {"text": "你好"})
    expect(page.locator("#source")).to_have_value("你好")
    expect_translation(page, "你好")
    assert [message["q"] for message in requests_in(sent)] == ["你好"]


# Addresses

HOSTILE_ADDRESSES = [
    "#q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
    "?source=%3Cscript%3Ealert(1)%3C/script%3E&target=javascript:alert(1)#q=hello",
    "#q=%00%01%7F",
    "#q=%FF%FE%",
    "?__proto__[x]=1&constructor=2#__proto__=3&q=hello",
]


@pytest.mark.parametrize("address", HOSTILE_ADDRESSES)
def test_a_hostile_address_is_only_text(page: Page, site: Site, address: str) -> None:
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    page.goto(site.url + address)
    expect(page.locator("#from option")).not_to_have_count(0)
    assert page.locator("main img, main script").count() == 0
    assert page.url.rstrip("#") == site.url
    write(page, "still here")
    expect(page.locator("#target")).to_have_text("STILL HERE")


# Markup in every text that the server sends

EVIL = "<img src=x onerror=alert(1)><script>alert(1)</script>"
PLAIN = {"type", "code", "source", "finish_reason", "language", "targets", "fate", "kind"}


def poisoned(value: Any, name: str = "") -> Any:
    """A JSON value with markup before every text that people may see, but for the copies of
    what they wrote."""
    if isinstance(value, dict):
        return {key: poisoned(one, key) for key, one in value.items()}
    if isinstance(value, list) and name not in PLAIN:
        return [poisoned(one, name) for one in value]
    return EVIL + value if isinstance(value, str) and name not in PLAIN else value


def poison_everything(page: Page) -> None:
    def poison(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=poisoned(answer.json()))

    def connect(route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        server.on_message(lambda text: route.send(json.dumps(poisoned(json.loads(text)))))

    for path in ("translate", "translate/next", "frontend/settings", "documents", "documents/*"):
        page.route(f"**/{path}", poison)
    page.route_web_socket("**/translate/stream", connect)


def test_markup_from_the_server_is_shown_as_text_everywhere(page: Page, site: Site) -> None:
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    poison_everything(page)
    visit(page, site)
    write(page, "A dog")
    expect(page.locator("#target")).to_contain_text("<script>")
    expect(page.locator("#alternatives li").first).to_contain_text("<img")
    expect(page.locator("#announcer")).to_contain_text("<img")
    page.locator("#copy").click()
    for panel in ("sentences", "request", "history", "model", "engine"):
        open_tab(page, panel)
    open_tab(page, "model")
    page.locator("#panel-model label:has([value=search])").click()
    expect(page.locator("#panel-model")).to_contain_text("<img")
    choose(page, (f"{EVIL[:20]}.txt", b"x"))
    expect(page.locator("#files")).to_contain_text("<img")
    site.runner.poison = ord("z")
    write(page, "zero")
    expect(page.locator("#status")).to_contain_text("<img")
    page.locator("#clear").click()
    paste(page, "<b>x</b>")
    expect(page.locator("#target b")).to_have_text("X")
    assert page.locator("main img, main script, footer img").count() == 0


# Servers


def test_a_server_that_is_stuck_is_told_and_asked_again(page: Page, site: Site) -> None:
    sent = sent_messages(page)
    visit(page, site)
    site.runner.gate.clear()
    write(page, "hello")
    expect(page.locator("#status")).to_contain_text("busy or loads a model")
    count = len(requests_in(sent))
    page.locator("#retry").click()
    until(lambda: page.wait_for_timeout(50) is None and len(requests_in(sent)) > count)
    site.runner.gate.set()
    expect_translation(page, "HELLO")
    expect(page.locator("#status")).to_be_hidden()
    until(lambda: site.served.count("dragoman_cancelled_total") == 1)
