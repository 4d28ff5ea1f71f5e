"""Translating: text streams in while one types, and trouble is told and overcome."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from model.decoding.sentence import StepResult
from tests.browser.actions import expect_translation, visit, write
from tests.browser.conftest import Site
from tests.service.fakes import FakeRunner, until


def test_what_one_types_is_translated(page: Page, site: Site) -> None:
    visit(page, site)
    page.locator("#source").press_sequentially("good morning", delay=20)
    expect_translation(page, "GOOD MORNING")
    page.locator("#source").press("End")
    page.locator("#source").press_sequentially(" all")
    expect_translation(page, "GOOD MORNING ALL")


class MeteredRunner(FakeRunner):
    """Takes only the steps that it is allowed."""

    def __init__(self) -> None:
        super().__init__()
        self.permits = threading.Semaphore(0)

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        self.permits.acquire(timeout=60)
        return super().step(handles)


def test_words_appear_before_the_translation_is_complete(
    page: Page, make_site: Callable[..., Site]
) -> None:
    runner = MeteredRunner()
    visit(page, make_site(runner))
    write(page, "good morning")
    runner.permits.release(4)
    expect(page.locator("#target")).to_have_text("GOOD")
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "true")
    runner.permits.release(100)
    expect_translation(page, "GOOD MORNING")


def test_the_beginning_that_does_not_change_stays_the_same_text_node(
    page: Page, site: Site
) -> None:
    visit(page, site)
    page.locator("#tab-options").click()
    expect(page.locator("[name=details]")).to_be_checked()  # uncheck() does not wait for the part
    page.locator("[name=details]").uncheck()
    write(page, "the beginning")
    expect_translation(page, "THE BEGINNING")
    page.evaluate("window.kept = document.querySelector('#target').firstChild")
    page.evaluate(
        """window.shown = []; new MutationObserver(() => shown.push(
          document.querySelector('#target').textContent)).observe(document.querySelector('#target'),
          {childList: true, characterData: true, subtree: true})"""
    )
    write(page, "the beginning and the end")
    expect_translation(page, "THE BEGINNING AND THE END")
    assert page.evaluate("window.kept === document.querySelector('#target').firstChild")
    shown = page.evaluate("window.shown")
    assert all(text.startswith("THE BEGINNING") for text in shown)


def test_a_newer_text_cancels_the_older(page: Page, site: Site) -> None:
    visit(page, site)
    site.runner.gate.clear()
    write(page, "old text")
    until(lambda: site.runner.is_stepping.is_set())
    write(page, "new")
    page.wait_for_timeout(400)
    site.runner.gate.set()
    expect_translation(page, "NEW")
    assert site.count("dragoman_cancelled_total") == 1


class SlowRunner(FakeRunner):
    """Takes its time for each step until it is `hurried`."""

    def __init__(self) -> None:
        super().__init__()
        self.hurried = threading.Event()

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        self.hurried.wait(0.05)
        return super().step(handles)


def test_one_who_types_faster_than_the_server_answers_still_sees_something(
    page: Page, make_site: Callable[..., Site]
) -> None:
    """Each request takes a second here; without care each keystroke would cancel it."""
    runner = SlowRunner()
    visit(page, make_site(runner))
    shown: set[str | None] = set()
    for number in range(30):
        write(page, f"typing on and on {number}")
        page.wait_for_timeout(150)
        shown.add(page.locator("#target").text_content())
    assert len(shown - {""}) > 1
    runner.hurried.set()
    expect_translation(page, "TYPING ON AND ON 29")


def test_the_language_is_detected_and_said(page: Page, site: Site) -> None:
    visit(page, site, source="auto", target="en")
    write(page, "图书馆在哪里？我昨天和汤姆一起去看书。")
    expect(page.locator("#detected")).to_have_text(re.compile(r"Detected: Chinese \(\d+%\)"))
    expect(page.locator("#source")).to_have_attribute("lang", "zh")
    page.locator("#from").select_option("zh")
    expect(page.locator("#detected")).to_have_text("")


def test_a_text_in_the_language_of_the_page_is_translated_into_another(
    page: Page, site: Site
) -> None:
    """Unless one chose the target."""
    page.goto(site.url)
    expect(page.locator("#to")).to_have_value("en")
    write(page, "This is a sentence in English.")
    expect(page.locator("#to")).to_have_value("zh")
    expect_translation(page, "THIS IS A SENTENCE IN ENGLISH.")
    page.locator("#to").select_option("en")
    expect_translation(page, "This is a sentence in English.")
    expect(page.locator("#to")).to_have_value("en")


def test_swapping_translates_the_translation(page: Page, site: Site) -> None:
    visit(page, site, source="zh", target="en")
    write(page, "abc")
    expect_translation(page, "ABC")
    page.locator("#swap").click()
    expect(page.locator("#source")).to_have_value("ABC")
    expect(page.locator("#from")).to_have_value("en")
    expect(page.locator("#to")).to_have_value("zh")
    page.locator("#to").select_option("de")
    expect(page.locator("#swap")).to_be_disabled()  # nothing translates from German here


def test_copying_and_clearing(page: Page, site: Site) -> None:
    visit(page, site)
    expect(page.locator("#copy")).to_be_disabled()
    write(page, "hello")
    expect_translation(page, "HELLO")
    page.locator("#copy").click()
    expect(page.locator("#status")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "HELLO"
    page.locator("#clear").click()
    expect_translation(page, "")
    expect(page.locator("#source")).to_be_focused()
    expect(page.locator("#copy")).to_be_disabled()


def test_the_address_holds_a_text_only_when_asked(page: Page, site: Site) -> None:
    """Then after the #, which no server and no log receives."""
    visit(page, site)
    write(page, "secret & more #1")
    expect_translation(page, "SECRET & MORE #1")
    assert "secret" not in page.url
    page.locator("#share").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "secret" not in link.partition("#")[0]
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#source")).to_have_value("secret & more #1")
    expect_translation(page, "SECRET & MORE #1")
    assert page.url == site.url


def test_a_link_with_its_text_in_the_query_opens_too(page: Page, site: Site) -> None:
    visit(page, site, "?source=en&target=de&q=Good+day%20%26%20night")
    expect_translation(page, "GOOD DAY & NIGHT")
    assert page.url == site.url


def test_a_link_with_languages_that_are_not_served_still_translates(page: Page, site: Site) -> None:
    visit(page, site, "?source=xx&target=<b>#q=hello")
    expect(page.locator("#from")).to_have_value("auto")
    expect(page.locator("#target")).not_to_be_empty()


def test_a_text_of_100_kb_in_a_link_is_told_to_be_too_long(page: Page, site: Site) -> None:
    visit(page, site, "#q=" + "a" * 100_000)
    expect(page.locator("#status")).to_contain_text("100,000 characters. At most 20,000")
    assert page.locator("#source").input_value() == "a" * 100_000
    answer = page.goto(f"{site.url}?q={'a' * 100_000}")
    assert answer is not None
    assert answer.status == 431  # a query is bounded by the server


def test_a_text_over_the_limit_is_never_sent(page: Page, make_site: Callable[..., Site]) -> None:
    site = make_site(max_characters=20)
    visit(page, site)
    write(page, "😀" * 21)  # 42 UTF-16 units, 21 characters
    expect(page.locator("#count")).to_have_text("21 of 20")
    expect(page.locator("#status")).to_contain_text("21 characters. At most 20")
    write(page, "😀" * 19 + "a")
    expect_translation(page, "😀" * 19 + "A")
    expect(page.locator("#status")).to_be_hidden()


def test_a_very_long_translation_is_shown_whole(page: Page, site: Site) -> None:
    text = " ".join(["The quick brown fox jumps."] * 740)
    visit(page, site)
    write(page, text)
    expect(page.locator("#target")).to_have_text(text.upper(), timeout=60_000)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>&amp;\"'"


def test_markup_is_shown_as_text(page: Page, site: Site) -> None:
    visit(page, site)
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    write(page, HOSTILE)
    expect(page.locator("#target")).to_contain_text("<script>")
    for name in ("sentences", "request", "history"):
        page.locator(f"#tab-{name}").click()
        page.wait_for_timeout(100)
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize(
    "text", ["a\u202eb\u2066c", "x\u200by\u200dz\ufeff", "é́́́" * 50, "👩‍👩‍👧‍👦 ok"]
)
def test_strange_characters_stay_in_their_pane(page: Page, site: Site, text: str) -> None:
    visit(page, site)
    write(page, text)
    expect(page.locator("#copy")).to_be_enabled()
    assert page.locator("#source").input_value() == text
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_server_that_restarts_is_found_again(page: Page, site: Site) -> None:
    visit(page, site)
    write(page, "before")
    expect_translation(page, "BEFORE")
    site.stop()
    write(page, "after")
    expect(page.locator("#status")).to_contain_text("cannot be reached")
    expect(page.locator("#target")).to_have_text("BEFORE")
    site.start()
    expect_translation(page, "AFTER")
    expect(page.locator("#status")).to_be_hidden()


def test_a_connection_that_dies_in_the_middle_is_made_again(page: Page, site: Site) -> None:
    visit(page, site)
    site.runner.gate.clear()
    write(page, "halfway there")
    until(lambda: site.runner.is_stepping.is_set())
    site.cut_connections()
    expect(page.locator("#status")).to_contain_text("connection was lost")
    site.runner.gate.set()
    expect_translation(page, "HALFWAY THERE")


def test_trying_now_does_not_wait_for_the_pause(page: Page, site: Site) -> None:
    visit(page, site)
    site.stop()
    write(page, "patience")
    expect(page.locator("#status")).to_contain_text(re.compile("in [2-9] s"), timeout=30_000)
    site.start()
    page.locator("#retry").click()
    expect_translation(page, "PATIENCE")


def test_a_full_server_is_said_to_be_busy_and_tried_again(
    page: Page, make_site: Callable[..., Site]
) -> None:
    site = make_site(FakeRunner(max_slots=1, max_rows=4), max_waiting_sentences=1)
    visit(page, site)
    site.runner.gate.clear()
    with _occupied(site):
        write(page, "hello")
        expect(page.locator("#status")).to_contain_text("The server is busy")
    expect_translation(page, "HELLO")


@contextlib.contextmanager
def _occupied(site: Site) -> Iterator[None]:
    """The server's only slot and its whole queue are taken until the end."""
    engine = site.app.state.server.engines["fake"]
    with ThreadPoolExecutor() as pool:
        for number in range(2):
            body = {"source": "en", "target": "de", "q": f"occupied {number}"}
            pool.submit(httpx.post, f"{site.url}translate", json=body, timeout=60)
            until(lambda n=number: engine.num_running + engine.admission.num_sentences > n)
        yield
        site.runner.gate.set()


def test_one_who_is_offline_is_told_so_and_goes_on_afterwards(
    page: Page, site: Site, context: BrowserContext
) -> None:
    visit(page, site)
    write(page, "before")
    expect_translation(page, "BEFORE")
    context.set_offline(True)
    write(page, "after")
    expect(page.locator("#status")).to_contain_text("You are offline")
    context.set_offline(False)
    expect_translation(page, "AFTER")


def test_a_connection_that_was_idle_too_long_is_made_again_without_a_word(
    page: Page, make_site: Callable[..., Site]
) -> None:
    site = make_site(stream_idle_seconds=0.3)
    visit(page, site)
    write(page, "one")
    expect_translation(page, "ONE")
    page.wait_for_timeout(900)
    write(page, "two")
    expect_translation(page, "TWO")
    expect(page.locator("#status")).to_be_hidden()


def test_where_no_websocket_comes_through_the_text_is_posted(page: Page, site: Site) -> None:
    page.add_init_script(
        "window.WebSocket = class extends WebSocket { constructor(u) { super(u + '/nowhere') } }"
    )
    visit(page, site)
    write(page, "hello")
    expect(page.locator("#target")).to_have_text("HELLO", timeout=15_000)
    expect_translation(page, "HELLO")
    expect(page.locator("#status")).to_be_hidden()
    site.runner.gate.clear()
    write(page, "old text")
    until(lambda: site.runner.is_stepping.is_set())
    page.wait_for_timeout(300)
    write(page, "new")
    page.wait_for_timeout(300)
    site.runner.gate.set()
    expect_translation(page, "NEW")
    site.stop()
    write(page, "after")
    expect(page.locator("#status")).to_contain_text("Trying again")
    site.start()
    expect_translation(page, "AFTER")


def test_a_server_that_is_away_at_the_start_is_waited_for(page: Page, site: Site) -> None:
    page.route("**/languages", lambda route: route.abort())
    page.goto(site.url)
    expect(page.locator("#status")).to_contain_text("languages could not be loaded")
    page.unroute("**/languages")
    write(page, "hello")
    expect(page.locator("#target")).not_to_be_empty()


def test_a_refusal_says_why(page: Page, site: Site) -> None:
    site.runner.poison = ord("z")
    visit(page, site)
    write(page, "zero")
    expect(page.locator("#status")).to_contain_text("The server refuses this")
    write(page, "antidote")
    expect_translation(page, "ANTIDOTE")
    expect(page.locator("#status")).to_be_hidden()


def test_two_tabs_translate_side_by_side_and_share_a_history(
    page: Page, context: BrowserContext, site: Site
) -> None:
    other = context.new_page()
    visit(page, site)
    visit(other, site)
    write(page, "from the first")
    write(other, "from the second")
    expect_translation(page, "FROM THE FIRST")
    expect_translation(other, "FROM THE SECOND")
    for tab in (page, other):
        tab.locator("#tab-history").click()
        expect(tab.locator("#history li")).to_have_count(2)
