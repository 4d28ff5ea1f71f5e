"""Translating: text streams in while one types, and trouble is told and overcome."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from model.decoding.sentence import StepResult
from tests.browser.actions import (
    choose,
    expect_stale,
    expect_translation,
    paste,
    sent_messages,
    translate,
    visit,
    write,
)
from tests.browser.conftest import MakeSite, Site
from tests.service.fakes import FakeRunner, until


class MeteredRunner(FakeRunner):
    """Takes only the steps that it is allowed."""

    def __init__(self) -> None:
        super().__init__()
        self.permits = threading.Semaphore(0)

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        self.permits.acquire(timeout=60)
        return super().step(handles)


def test_words_appear_before_the_translation_is_complete(page: Page, make_site: MakeSite) -> None:
    runner = MeteredRunner()
    visit(page, make_site(runner))
    write(page, "good morning")
    runner.permits.release(4)
    expect(page.locator("#target")).to_have_text("GOOD")
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "true")
    runner.permits.release(100)
    expect_translation(page, "GOOD MORNING")


def test_a_newer_text_cancels_the_older(page: Page, site: Site) -> None:
    sent = sent_messages(page)
    visit(page, site)
    site.runner.gate.clear()
    write(page, "old text")
    until(lambda: site.runner.is_stepping.is_set())
    write(page, "new")
    until(lambda: page.wait_for_timeout(20) is None and any(m.get("cancel") for m in sent))
    site.runner.gate.set()
    expect_translation(page, "NEW")
    assert site.served.count("dragoman_cancelled_total") == 1


def test_the_language_is_detected_and_said(page: Page, site: Site) -> None:
    visit(page, site, source="auto", target="en")
    write(page, "图书馆在哪里？我昨天和汤姆一起去看书。")
    expect(page.locator("#detected")).to_have_text(re.compile(r"Detected: Chinese \(\d+%\)"))
    expect(page.locator("#source")).to_have_attribute("lang", "zh")
    page.locator("#from").select_option("zh")
    expect(page.locator("#detected")).to_have_text("")


def test_the_target_follows_the_language_of_the_text_but_no_guess_from_a_few_letters(
    browser: Browser, make_site: MakeSite
) -> None:
    """In a German browser "W" and "Was" are taken for German. German goes to English."""
    site = make_site(pairs=(("zh", "en"), ("en", "zh"), ("en", "de"), ("de", "en")))
    page = browser.new_context(locale="de-DE").new_page()
    page.goto(site.url)
    targets = set()
    for end in range(1, len("Was it a good day?") + 1):
        write(page, "Was it a good day?"[:end])
        begun = re.compile(re.escape("Was it a good day?"[:end]), re.IGNORECASE)
        expect(page.locator("#target")).to_have_text(begun)
        targets.add(page.locator("#to").input_value())
    assert targets == {"de"}
    write(page, "Wo ist die Bibliothek?")
    expect(page.locator("#to")).to_have_value("en")
    expect_translation(page, "WO IST DIE BIBLIOTHEK?")
    write(page, "Where is the library?")
    expect(page.locator("#to")).to_have_value("de")
    page.locator("#to").select_option("de")  # what one chose stays
    write(page, "Wo ist die Bibliothek?")
    expect(page.locator("#about")).to_have_text("Das ist schon Deutsch.")
    expect(page.locator("#to")).to_have_value("de")
    page.context.close()


def test_another_language_of_the_page_chooses_no_target(page: Page, site: Site) -> None:
    """A text in the page's language goes to another one, as before."""
    page.goto(site.url)
    page.locator("#interface").select_option("zh")
    for text, target in (("Where is the library?", "zh"), ("图书馆在哪里？我昨天去看书。", "en")):
        write(page, text)
        expect(page.locator("#to")).to_have_value(target)
    page.locator("#to").select_option("de")
    page.locator("#interface").select_option("en")
    expect(page.locator("#to")).to_have_value("de")  # what one chose stays


def test_a_language_is_found_in_a_long_list_by_any_of_its_names_and_codes(
    page: Page, many_languages: Site
) -> None:
    visit(page, many_languages, target="fr")
    field = page.get_by_role("combobox", name="Translate to")
    expect(field).to_have_value("French")
    first = page.get_by_role("listbox", name="Translate to").get_by_role("option").first
    for query, name in (
        *(
            (query, "German")
            for query in ("de", "deu", "ger", "deu_Latn", "GERMAN", "Deut", "德语")
        ),
        *((query, "Spanish") for query in ("espanol", "español", "spanis", "西班牙")),
        *(("中文", "Chinese"), ("zho", "Chinese"), ("tradit", "Traditional Chinese")),
        *(("nor", "Norwegian"), ("pers", "Persian"), ("русс", "Russian"), ("ελλ", "Greek")),
    ):
        field.fill(query)
        expect(first).to_have_text(name)
        expect(first).to_have_attribute("aria-selected", "true")
    field.fill("Klingon")
    expect(page.get_by_text("This server does not have this language.")).to_be_visible()
    field.press("Enter")
    field.press("Escape")
    expect(field).to_have_value("French")


def test_a_long_list_of_languages_is_used_by_keyboard_and_by_pointer(
    page: Page, many_languages: Site
) -> None:
    visit(page, many_languages, target="fr")
    source, target = (
        page.get_by_role("combobox", name=f"Translate {end}") for end in ("from", "to")
    )
    page.locator("#from-search").focus()
    page.keyboard.press("ArrowDown")
    expect(source).to_have_attribute("aria-expanded", "true")
    active = page.locator(f"#{source.get_attribute('aria-activedescendant')}")
    expect(active).to_have_text("English")
    page.keyboard.press("PageUp")
    page.keyboard.press("Enter")
    expect(source).to_have_value("Auto-detect")
    target.click()
    page.get_by_role("option", name="Italian").click()
    expect(target).to_have_value("Italian")
    expect(page.get_by_role("listbox")).to_have_count(0)
    target.focus()
    page.keyboard.type("polnisch")
    page.keyboard.press("Tab")
    expect(target).to_have_value("Polish")
    expect(page.locator("#source")).to_be_focused()
    translate(page, "the end of the day")
    page.locator("#swap").click()
    expect(target).to_have_value("English")


def test_swapping_translates_the_translation(page: Page, site: Site) -> None:
    visit(page, site, source="zh", target="en")
    translate(page, "abc")
    page.locator("#swap").click()
    expect(page.locator("#source")).to_have_value("ABC")
    expect(page.locator("#from")).to_have_value("en")
    expect(page.locator("#to")).to_have_value("zh")
    page.locator("#to").select_option("de")
    expect(page.locator("#swap")).to_be_disabled()  # nothing translates from German here


def test_choosing_the_targets_language_for_the_text_swaps_the_languages(
    page: Page, make_site: MakeSite
) -> None:
    pairs = (("zh", "en"), ("en", "zh"), ("en", "de"), ("de", "en"))
    visit(page, make_site(pairs=pairs), source="en", target="de")
    page.locator("#from").select_option("de")
    expect(page.locator("#to")).to_have_value("en")
    page.locator("#from").select_option("en")
    expect(page.locator("#to")).to_have_value("de")


def test_copying_and_clearing(page: Page, site: Site) -> None:
    visit(page, site)
    expect(page.locator("#copy")).to_be_disabled()
    translate(page, "hello")
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
    translate(page, "secret & more #1")
    assert "secret" not in page.url
    page.locator("#share").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "secret" not in link.partition("#")[0]
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#source")).to_have_value("secret & more #1")
    expect_translation(page, "SECRET & MORE #1")
    assert page.url == site.url


@pytest.mark.parametrize("code", ["de", "DE", "de-AT", "de_CH", "deu"])
def test_a_link_may_name_a_language_as_others_do(page: Page, site: Site, code: str) -> None:
    visit(page, site, target=code)
    expect(page.locator("#to")).to_have_value("de")
    expect(page.locator("#status")).to_be_hidden()


def test_a_text_over_the_limit_is_never_sent(page: Page, make_site: MakeSite) -> None:
    site = make_site(max_characters=20)
    visit(page, site)
    translate(page, "short")
    write(page, "😀" * 21)  # 42 UTF-16 units, 21 characters
    expect(page.locator("#count")).to_have_text("21 of 20")
    expect(page.locator("#status")).to_contain_text("21 characters. At most 20")
    expect_stale(page, "SHORT")
    write(page, "😀" * 19 + "a")
    expect_translation(page, "😀" * 19 + "A")
    expect(page.locator("#status")).to_be_hidden()


def test_a_language_that_is_not_offered_is_named(page: Page, site: Site) -> None:
    visit(page, site, source="auto", target="de")
    translate(page, "hello you")
    write(page, "Où est la bibliothèque de cette ville ?")
    told = "This seems to be French, which is not offered here."
    expect(page.locator("#status-text")).to_have_text(told)
    expect_stale(page, "HELLO YOU")
    choose(page, ("a.txt", "Où est la gare ?".encode()))
    expect(page.locator("#files .is-wrong")).to_have_text(told, timeout=20_000)


def test_a_reload_keeps_the_text_and_the_focus(page: Page, site: Site) -> None:
    visit(page, site)
    expect(page.locator("#source")).to_be_focused()
    translate(page, "hello")
    page.reload()
    expect_translation(page, "HELLO")
    page.locator("#clear").click()
    paste(page, "<b>Hello</b>")
    expect(page.locator("#rich b")).to_be_visible()
    page.reload()
    expect(page.locator("#target b")).to_have_text("HELLO")
    assert "ello" not in page.evaluate("JSON.stringify({...localStorage, 'dragoman.history': ''})")


WRAPPED = """Dear all,

the library will be closed on Monday, because
the river is very high. Please bring your books
back before Friday.

- one
- two"""


def test_wrapped_lines_are_joined_when_one_agrees(page: Page, site: Site) -> None:
    visit(page, site)
    write(page, "A first line that is long, and a sentence.\nAnother one.")
    expect(page.locator("#join")).to_be_hidden()
    write(page, WRAPPED)
    page.locator("#join").click()
    joined = WRAPPED.replace("because\n", "because ").replace("books\n", "books ")
    expect(page.locator("#source")).to_have_value(joined)
    expect(page.locator("#join")).to_be_hidden()
    expect_translation(page, joined.upper())
    page.keyboard.press("Control+z")
    expect(page.locator("#source")).to_have_value(WRAPPED)


@pytest.mark.parametrize(
    ("is_offline", "told"), [(False, "cannot be reached"), (True, "You are offline")]
)
def test_a_server_that_cannot_be_reached_is_found_again(
    page: Page, site: Site, context: BrowserContext, is_offline: bool, told: str
) -> None:
    visit(page, site)
    translate(page, "before")
    context.set_offline(True) if is_offline else site.stop()
    write(page, "after")
    expect(page.locator("#status")).to_contain_text(told)
    expect_stale(page, "BEFORE")
    context.set_offline(False) if is_offline else site.start()
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


def test_a_full_server_is_said_to_be_busy_and_tried_again(
    page: Page, context: BrowserContext, make_site: MakeSite
) -> None:
    site = make_site(FakeRunner(max_slots=1, max_rows=4), max_waiting_sentences=1)
    engine = site.served.app.state.server.models.pool.engines["fake"]
    visit(page, site)
    site.runner.gate.clear()
    for number in range(2):
        other = context.new_page()
        visit(other, site)
        write(other, f"occupied {number}")
        until(lambda n=number: engine.num_running + engine.admission.num_sentences > n)
    write(page, "hello")
    expect(page.locator("#status")).to_contain_text("The server is busy")
    site.runner.gate.set()
    expect_translation(page, "HELLO")


def test_where_no_websocket_comes_through_the_text_is_posted(page: Page, site: Site) -> None:
    page.add_init_script(
        "window.WebSocket = class extends WebSocket { constructor(u) { super(u + '/nowhere') } }"
    )
    visit(page, site)
    write(page, "hello")
    expect(page.locator("#target")).to_have_text("HELLO", timeout=15_000)
    expect_translation(page, "HELLO")
    expect(page.locator("#status")).to_be_hidden()


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
    translate(page, "antidote")
    expect(page.locator("#copy")).to_be_enabled()
    expect(page.locator("#status")).to_be_hidden()
