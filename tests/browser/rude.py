"""Rude input: huge pastes, strange addresses, markup from everywhere, servers that hang."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Page,
    Route,
    WebSocketRoute,
    expect,
)

from tests.browser.actions import (
    expect_translation,
    open_tab,
    paste,
    requests_in,
    sent_messages,
    visit,
    write,
)
from tests.browser.conftest import Site
from tests.service.fakes import FakeRunner, until

# Texts


def test_a_megabyte_that_is_pasted_is_told_to_be_too_long_and_cleared(
    page: Page, site: Site
) -> None:
    sent = sent_messages(page)
    visit(page, site)
    page.evaluate("navigator.clipboard.writeText('word '.repeat(200000))")
    page.locator("#source").focus()
    page.keyboard.press("Control+V")
    expect(page.locator("#count")).to_have_text("1,000,000 of 20,000")
    expect(page.locator("#status")).to_contain_text("1,000,000 characters. At most 20,000")
    assert requests_in(sent) == []
    page.locator("#clear").click()
    write(page, "small")
    expect_translation(page, "SMALL")
    expect(page.locator("#status")).to_be_hidden()


def test_formatted_text_of_a_megabyte_is_pasted_plain(page: Page, site: Site) -> None:
    visit(page, site)
    assert not paste(page, "<b>x</b>" * 130_000, "x" * 130_000)
    expect(page.locator("#rich")).to_be_hidden()


def test_a_text_over_the_bytes_of_a_message_is_not_sent(
    page: Page, make_site: Callable[..., Site]
) -> None:
    sent = sent_messages(page)
    visit(page, make_site(max_body_bytes=10_000))
    write(page, "图" * 3000)
    expect(page.locator("#status")).to_contain_text("too large for the server")
    assert requests_in(sent) == []


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag 🇩🇪",
        "مرحبا hello 123 שלום (abc) ١٢٣",
        "\u202egnp.exe\u202c and \u2067rtl\u2069",
        "e\u0301\u0302\u0303 Zalgo",
        "ﬁ ǅ ß İ",
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


def test_text_of_an_unknown_language_takes_its_direction_from_its_letters(
    page: Page, site: Site
) -> None:
    visit(page, site, source="auto", target="de")
    write(page, "שלום")
    expect(page.locator("#source")).to_have_attribute("dir", re.compile("auto|rtl"))
    assert page.evaluate("document.querySelector('#source').matches(':dir(rtl)')")


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
    visit(page, site, source="zh", target="en")
    page.locator("#source").focus()
    for text in ("n", "ni", "ni h", "ni hao"):
        compose(devtools, text)
        page.wait_for_timeout(150)
    expect(page.locator("#source")).to_have_value("ni hao")
    expect(page.locator("#count")).to_contain_text("6 of")
    page.wait_for_timeout(1000)
    assert requests_in(sent) == []
    devtools.send("Input.insertText", {"text": "你好"})
    expect(page.locator("#source")).to_have_value("你好")
    expect_translation(page, "你好")
    assert [message["q"] for message in requests_in(sent)] == ["你好"]


def test_a_phone_whose_keyboard_composes_every_word_is_asked_after_a_pause(
    browser: Browser, site: Site
) -> None:
    context = browser.new_context(has_touch=True, is_mobile=True, locale="en-GB")
    page = context.new_page()
    sent = sent_messages(page)
    visit(page, site)
    page.locator("#source").focus()
    devtools = context.new_cdp_session(page)
    for text in ("h", "he", "hello"):
        compose(devtools, text)
        page.wait_for_timeout(100)
    expect(page.locator("#target")).to_have_text("HELLO")
    assert [message["q"] for message in requests_in(sent)] == ["hello"]
    context.close()


def test_enter_that_ends_a_composition_in_the_glossary_adds_no_term(
    page: Page, site: Site, devtools: CDPSession
) -> None:
    visit(page, site)
    open_tab(page, "glossary")
    page.locator(".terms input").nth(0).focus()
    compose(devtools, "ni")
    page.evaluate(
        """document.activeElement.dispatchEvent(
          new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"""
    )
    expect(page.locator(".terms li")).to_have_count(1)


# Addresses

HOSTILE_ADDRESSES = [
    "#q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
    "?source=%3Cscript%3Ealert(1)%3C/script%3E&target=javascript:alert(1)#q=hello",
    "#q=%00%01%7F",
    "#q=%ED%A0%80%ED%B0%80",
    "#q=%FF%FE%",
    "#q=a&q=b&source=zh",
    "#q=%E2%80%AEevil%E2%80%AC",
    "?__proto__[x]=1&constructor=2#__proto__=3&q=hello",
    "#" + "q=" * 2000,
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

    for path in ("translate", "translate/next", "frontend/settings", "translate_file"):
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
        page.wait_for_timeout(400)
    open_tab(page, "model")
    page.locator("#panel-model label:has([value=search])").click()
    expect(page.locator("#panel-model")).to_contain_text("<img")
    file = {"name": f"{EVIL[:20]}.txt", "mimeType": "text/plain", "buffer": b"x"}
    page.locator("#file").set_input_files([file])  # type: ignore[list-item]
    expect(page.locator("#files")).to_contain_text("<img")
    site.runner.poison = ord("z")
    write(page, "zero")
    expect(page.locator("#status")).to_contain_text("<img")
    assert page.locator("main img, main script, footer img").count() == 0


def test_markup_that_people_stored_is_shown_as_text(page: Page, site: Site) -> None:
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    entry = {name: EVIL for name in ("from", "to", "text", "translation")}
    stored = {
        "history": [entry],
        "glossaries": {"en de": [{"source": EVIL, "target": EVIL}]},
        "options": {"keep": EVIL, "mode": EVIL},
        "tab": EVIL,
    }
    for name, value in stored.items():
        script = f"localStorage.setItem('dragoman.{name}', {json.dumps(json.dumps(value))})"
        page.add_init_script(script)
    visit(page, site)
    for panel in ("history", "glossary", "options", "request"):
        open_tab(page, panel)
    expect(page.locator("#request")).to_contain_text("onerror")
    open_tab(page, "history")
    expect(page.locator("#history li")).to_contain_text("<script>")
    page.locator("#history .entry").click()
    expect(page.locator("#source")).to_have_value(EVIL)
    assert page.locator("main img, main script").count() == 0


CSP_ATTACKS = {
    "an inline script": "document.body.append(Object.assign(document.createElement('script'),"
    " {textContent: 'window.owned = 1'}))",
    "an inline handler": "document.body.setAttribute('onclick', 'window.owned = 1');"
    "document.body.click()",
    "HTML of a string": "document.body.innerHTML = '<img src=x onerror=\"window.owned = 1\">'",
    "a document of a string": "new DOMParser().parseFromString('<p>', 'text/html')",
    "a policy of its own": "trustedTypes.createPolicy('default', {createHTML: (s) => s})",
    "another host": "await fetch('https://example.org/')",
    "a picture of another host": "const i = new Image(); i.src = 'https://example.org/x.png';"
    "await new Promise((r, e) => { i.onload = r; i.onerror = () => e(new Error('blocked')) })",
}


@pytest.mark.parametrize("attack", CSP_ATTACKS.values(), ids=CSP_ATTACKS)
def test_the_content_policy_stops_what_gets_past_the_page(
    context: BrowserContext, site: Site, attack: str
) -> None:
    page = context.new_page()  # not the fixture's, which fails where the policy is broken
    page.goto(site.url)
    stopped = page.evaluate(
        f"""async () => {{
          let broken = 0;
          document.addEventListener('securitypolicyviolation', () => broken += 1);
          let failed = false;
          try {{ {attack}; }} catch {{ failed = true; }}
          await new Promise((resolve) => setTimeout(resolve, 200));
          return (broken > 0 || failed) && !window.owned; }}"""
    )
    assert stopped


def test_the_panels_contents_cannot_bring_a_script(page: Page, site: Site) -> None:
    def add(route: Route) -> None:
        answer = route.fetch()
        evil = "<div data-panel='history'><script>window.owned = 1</script></div>"
        route.fulfill(response=answer, body=answer.text() + evil)

    page.route("**/parts/panels.html", add)
    visit(page, site)
    open_tab(page, "history")
    expect(page.locator("#search")).to_be_visible()
    assert page.evaluate("window.owned") is None


# Servers


def test_a_server_that_is_stuck_is_told_and_asked_again(page: Page, site: Site) -> None:
    sent = sent_messages(page)
    visit(page, site)
    site.runner.gate.clear()
    write(page, "hello")
    expect(page.locator("#status")).to_contain_text("slow to answer", timeout=12_000)
    count = len(requests_in(sent))
    page.locator("#retry").click()
    until(lambda: page.wait_for_timeout(50) is None and len(requests_in(sent)) > count)
    site.runner.gate.set()
    expect_translation(page, "HELLO")
    expect(page.locator("#status")).to_be_hidden()
    until(lambda: site.count("dragoman_cancelled_total") == 1)


@contextlib.contextmanager
def silent_server(port: int) -> Iterator[None]:
    """Takes connections on this port and never says anything."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", port)) as listener:

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])

        thread = threading.Thread(target=take)
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in taken:
            connection.close()


def test_a_server_that_takes_connections_and_says_nothing_is_told(page: Page, site: Site) -> None:
    visit(page, site)
    write(page, "before")
    expect_translation(page, "BEFORE")
    site.stop()
    with silent_server(site.port):
        write(page, "after")
        expect(page.locator("#status")).to_contain_text("slow to answer", timeout=20_000)
    site.start()
    page.locator("#retry").click()
    expect(page.locator("#target")).to_have_text("AFTER", timeout=20_000)


def test_panels_of_a_server_that_is_away_say_so_and_work_again(page: Page, site: Site) -> None:
    visit(page, site, source="zh", target="en")
    write(page, "abc")
    expect_translation(page, "ABC")
    file = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"A day."}
    page.locator("#file").set_input_files([file])  # type: ignore[list-item]
    expect(page.locator("#files a")).to_be_visible()
    open_tab(page, "engine")
    expect(page.locator("#engine h3")).to_be_visible()
    site.stop()
    expect(page.locator("#no-engine")).to_be_visible()
    open_tab(page, "sentences")
    page.locator("#back").click()
    expect(page.locator("#back-text")).to_contain_text("did not work")
    page.locator("#file").set_input_files([file])  # type: ignore[list-item]
    expect(page.locator("#files .is-wrong")).to_contain_text("cannot be reached")
    open_tab(page, "model")
    expect(page.locator("#status")).to_contain_text("could not be loaded")
    page.locator("#interface").select_option("de")
    expect(page.locator("#interface")).to_have_value("en")
    site.start()
    open_tab(page, "engine")
    expect(page.locator("#engine h3")).to_be_visible()
    open_tab(page, "model")
    expect(page.locator(".attention .scroll canvas")).to_be_visible()
    open_tab(page, "sentences")
    page.locator("#back").click()
    expect(page.locator("#back-text")).to_have_text("ABC")
    page.locator("#interface").select_option("de")
    expect(page.locator("#copy")).to_have_text("Kopieren")


# The browser


def test_the_history_goes_on_when_the_browsers_storage_is_really_full(
    page: Page, site: Site
) -> None:
    visit(page, site)
    page.evaluate(
        """for (let size = 2 ** 22, i = 0; size >= 1; i += 1) {
          try { localStorage.setItem('filler' + i, 'x'.repeat(size)); } catch { size /= 2; } }"""
    )
    write(page, "hello")
    expect_translation(page, "HELLO")
    page.wait_for_timeout(1700)
    open_tab(page, "history")
    expect(page.locator("#history li")).to_have_count(1)
    expect(page.locator("#no-history")).to_contain_text("ends with this visit")
    page.evaluate(
        "for (const k in localStorage) if (k.startsWith('filler')) delete localStorage[k]"
    )
    write(page, "goodbye")
    expect_translation(page, "GOODBYE")
    page.wait_for_timeout(1700)
    expect(page.locator("#history li")).to_have_count(2)
    page.reload()
    open_tab(page, "history")
    expect(page.locator("#history li")).to_have_count(2)


def test_the_history_holds_a_hundred_texts_at_most(page: Page, site: Site) -> None:
    entries = [
        {"from": "en", "to": "de", "text": f"text {n}", "translation": "T"} for n in range(300)
    ]
    stored = json.dumps(json.dumps(entries))
    page.add_init_script(f"localStorage.setItem('dragoman.history', {stored})")
    visit(page, site)
    write(page, "one more")
    expect_translation(page, "ONE MORE")
    page.wait_for_timeout(1700)
    open_tab(page, "history")
    expect(page.locator("#history li")).to_have_count(100)
    expect(page.locator("#history li").first).to_contain_text("one more")


def test_the_back_button_brings_the_text_back(page: Page, site: Site) -> None:
    visit(page, site)
    write(page, "keep me")
    expect_translation(page, "KEEP ME")
    page.goto(f"{site.url}languages")
    page.go_back()
    expect(page.locator("#source")).to_have_value("keep me")
    expect_translation(page, "KEEP ME")
    write(page, "and go on")
    expect_translation(page, "AND GO ON")


def test_two_links_are_two_entries_of_the_back_button(page: Page, site: Site) -> None:
    visit(page, site, "?source=en&target=de#q=first")
    expect_translation(page, "FIRST")
    page.goto("about:blank")
    visit(page, site, "?source=en&target=de#q=second")
    expect_translation(page, "SECOND")
    page.go_back()
    page.go_back()
    expect(page.locator("#source")).to_have_value("first")


def test_at_four_hundred_per_cent_everything_is_reached(browser: Browser, site: Site) -> None:
    """1280 by 1024 pixels at this zoom have the room of 320 by 256."""
    size: Any = {"width": 320, "height": 256}
    context = browser.new_context(viewport=size, device_scale_factor=4, locale="en-GB")
    page = context.new_page()
    visit(page, site)
    write(page, "A big dog")
    expect_translation(page, "A BIG DOG")
    for panel in ("sentences", "request", "history", "options", "glossary", "model", "engine"):
        open_tab(page, panel)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, panel
    site.stop()
    write(page, "gone")
    expect(page.locator("#retry")).to_be_visible()
    hidden = page.evaluate("document.querySelector('#status').offsetHeight / innerHeight")
    assert hidden < 0.5
    page.locator("#source").scroll_into_view_if_needed()
    site.start()
    page.locator("#retry").click()
    expect_translation(page, "GONE")
    context.close()


def test_text_twice_as_large_is_not_cut_off(page: Page, site: Site) -> None:
    visit(page, site)
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    write(page, "A big dog")
    expect_translation(page, "A BIG DOG")
    for panel in ("sentences", "request", "history", "options", "glossary", "model", "engine"):
        open_tab(page, panel)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), panel


def test_a_keystroke_is_asked_at_once_and_a_fast_hand_is_slowed_down(
    page: Page, make_site: Callable[..., Site]
) -> None:
    runner = FakeRunner()
    sent = sent_messages(page)
    visit(page, make_site(runner))
    page.evaluate(
        """async () => { const field = document.querySelector('#source');
          for (let i = 1; i <= 40; i += 1) {
            field.value = 'x'.repeat(i);
            field.dispatchEvent(new InputEvent('input'));
            await new Promise((resolve) => setTimeout(resolve, 10)); } }"""
    )
    expect_translation(page, "X" * 40)
    asked = [message["q"] for message in requests_in(sent)]
    assert len(asked) < 20
    assert len(asked[0]) < 8  # before the 80 ms between two requests are over
    assert asked[-1] == "x" * 40
