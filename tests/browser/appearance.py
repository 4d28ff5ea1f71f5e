"""For everybody: keyboard, screen reader, small screens, colours, languages; axe finds nothing.

And the API reference at /docs.
"""

from __future__ import annotations

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.actions import (
    choose,
    expect_translation,
    open_tab,
    paste,
    translate,
    visit,
    write,
)
from tests.browser.conftest import MakeSite, Site

PANELS = ["sentences", "request", "history", "options", "glossary", "model", "engine"]
WIDTHS = [320, 768, 1440]


def expect_no_violations(page: Page, state: str) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, f"{state}: {found.generate_report()}"


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_in_any_state(page: Page, site: Site, colours: str) -> None:
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
    visit(page, site, source="auto", target="en")
    expect_no_violations(page, "empty")
    write(page, "图书馆在哪里？我昨天去看书。")
    expect(page.locator("#target .w").first).to_be_visible()
    page.locator("#target .w").first.hover()
    open_tab(page, "history")
    expect(page.locator("#history li")).to_have_count(1)
    for panel in PANELS:
        open_tab(page, panel)
        expect_no_violations(page, panel)
    page.locator("#tab-options").click()
    page.locator("[name=mode]").select_option("sampling")
    page.locator("[name=seed]").fill("-1")
    expect_no_violations(page, "a wrong option")
    site.stop()
    write(page, "gone")
    expect(page.locator("#retry")).to_be_visible()
    expect_no_violations(page, "trouble")
    site.start()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_in_the_parts(page: Page, site: Site, colours: str) -> None:
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
    words = [{"text": " CAT", "probability": 0.6, "translation": "A CAT."}]
    page.route("**/translate/next", lambda route: route.fulfill(json={"words": words}))
    visit(page, site)
    translate(page, "A big dog")
    page.locator("#target .w").nth(1).click()
    expect(page.locator("#next-words button").first).to_be_focused()
    expect_no_violations(page, "other words")
    page.keyboard.press("Escape")
    open_tab(page, "model")
    expect(page.locator(".attention canvas").first).to_be_visible()
    page.locator(".matrix summary").click()
    expect_no_violations(page, "attention")
    page.locator("#panel-model label:has([value=search])").click()
    page.get_by_label("Step forward").click()
    expect_no_violations(page, "search")
    open_tab(page, "glossary")
    page.locator(".terms input").first.fill("dog")
    expect_no_violations(page, "glossary")
    show_files_and_formatted_text(page)
    expect_no_violations(page, "files and formatted text")
    page.evaluate("import('/page/api.js').then((api) => api.refuse('invalid_key'))")
    expect(page.locator("#key")).to_be_visible()
    expect_no_violations(page, "key")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_in_a_long_list_of_languages(
    page: Page, many_languages: Site, colours: str
) -> None:
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
    visit(page, many_languages)
    page.locator("#to-search").click()
    expect(page.get_by_role("option")).not_to_have_count(0)
    expect_no_violations(page, "open")
    page.locator("#to-search").fill("Klingon")
    expect_no_violations(page, "nothing found")


def show_files_and_formatted_text(page: Page) -> None:
    """A file that is translated, one that is refused, and a text with a list and a link."""
    choose(page, ("letter.txt", b"A day."), ("photo.jpeg", b"x"))
    expect(page.locator("#files a")).to_have_count(1)
    expect(page.locator("#files .is-wrong")).to_have_count(1)
    page.locator("#clear").click()
    html = "<h2>Title</h2><ul><li><a href='https://example.org'>One</a></li></ul>"
    assert paste(page, html)
    expect(page.locator("#target a")).to_have_text("ONE")


CUT_MENUS = """[...document.querySelectorAll('main .languages select')].filter((menu) => {
  const style = getComputedStyle(menu), pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const room = menu.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return pen.measureText(menu.selectedOptions[0].label).width > room + 0.5;
}).map((menu) => menu.id)"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en-GB", "de-DE", "zh-CN"])
def test_nothing_is_cut_off_at_any_width(
    browser: Browser, site: Site, width: int, language: str
) -> None:
    context = browser.new_context(locale=language, viewport={"width": width, "height": 800})
    page = context.new_page()
    visit(page, site, source="auto", target="en")
    write(page, "图书馆在哪里？" + "w" * 120)
    expect(page.locator("#copy")).to_be_enabled()
    assert page.evaluate(CUT_MENUS) == []
    for panel in PANELS:
        open_tab(page, panel)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, panel
        outside = page.evaluate(
            """[...document.querySelectorAll('button, select, input, a')]
              .filter((e) => e.checkVisibility() && (e.getBoundingClientRect().right > innerWidth
                || e.getBoundingClientRect().left < 0)).map((e) => e.outerHTML)"""
        )
        assert outside == [], panel
    context.close()


WATCH = """() => {
  const at = new Map();
  window.moved = new Set();
  (function look() {
    for (const e of document.querySelectorAll('button, select, a, .tabs, footer')) {
      const {x, y} = e.getBoundingClientRect(), before = at.get(e);
      const now = e.checkVisibility() && `${x.toFixed()} ${y.toFixed()}`;
      if (before && now && before !== now) window.moved.add(`${e.id}: ${before} -> ${now}`);
      at.set(e, now);
    }
    requestAnimationFrame(look);
  })();
}"""


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_moves_while_one_types_points_and_copies(
    page: Page, make_site: MakeSite, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 1200})
    visit(page, make_site(max_characters=15), source="auto", target="de")
    write(page, "Where is it?")  # loads the parts
    expect(page.locator("#legend")).to_be_visible()
    page.locator("#clear").click()
    open_tab(page, "options")
    expect(page.locator("#options")).to_be_visible()
    page.evaluate(WATCH)
    page.locator("#source").press_sequentially("The dog is big.")
    expect_translation(page, "THE DOG IS BIG.")
    page.locator("#target .w").nth(3).hover()
    expect(page.locator("#word-note")).to_contain_text("BIG")
    page.locator("#copy").click()
    expect(page.locator("#status")).to_contain_text("Copied")
    page.locator("#source").press_sequentially("!")
    expect(page.locator("#status")).to_contain_text("too long")
    assert page.evaluate("[...window.moved]") == []


CARD_HEIGHT = "document.querySelector('#card').offsetHeight"


@pytest.mark.parametrize("width", WIDTHS)
def test_a_long_text_keeps_its_buttons_in_sight_and_its_height_goes_with_it(
    page: Page, site: Site, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    visit(page, site)
    write(page, "A day.")
    expect_translation(page, "A DAY.")
    height = page.evaluate(CARD_HEIGHT)
    write(page, "A day in the library. " * 150)
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "false")
    page.locator("#target .w").nth(200).scroll_into_view_if_needed()
    for name in ("#from", "#to", "#swap", "#copy"):
        expect(page.locator(name)).to_be_in_viewport()
    write(page, "A night.")
    expect_translation(page, "A NIGHT.")
    assert page.evaluate(CARD_HEIGHT) == height


def test_other_translations_are_shown_whole(page: Page, site: Site) -> None:
    visit(page, site)
    write(page, "I went to the library to read a book about my city. " * 4)
    expect(page.locator("#alternatives button")).not_to_have_count(0)
    box = "document.querySelector('#alternatives')"
    assert page.evaluate(f"{box}.scrollHeight <= {box}.clientHeight")


@pytest.mark.parametrize(
    ("language", "lang", "placeholder"),
    [
        ("de-AT", "de", "Text eingeben oder einfügen"),
        ("zh-CN", "zh-Hans", "输入或粘贴文本"),
        ("fr-FR", "en", "Type or paste text"),
    ],
)
def test_the_page_speaks_the_language_of_the_browser(
    browser: Browser, site: Site, language: str, lang: str, placeholder: str
) -> None:
    context = browser.new_context(locale=language)
    page = context.new_page()
    visit(page, site)
    expect(page.locator("html")).to_have_attribute("lang", lang)
    expect(page.locator("#source")).to_have_attribute("placeholder", placeholder)
    context.close()


def test_the_language_and_the_colours_of_the_page_are_chosen_and_kept(
    page: Page, site: Site
) -> None:
    visit(page, site)
    translate(page, "hello")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").select_option("dark")
    dark = page.evaluate(ground)
    assert dark != light
    page.locator("#interface").select_option("de")
    expect(page.locator("#to option:checked")).to_have_text("Deutsch")
    expect_translation(page, "HELLO")
    page.reload()
    expect(page.locator("#copy")).to_have_text("Kopieren")
    assert page.evaluate(ground) == dark
    page.locator("#theme").select_option("")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == dark


def test_a_language_that_is_written_from_the_right_is_shown_so(
    page: Page, make_site: MakeSite
) -> None:
    arabic = make_site(pairs=(("en", "ar"), ("ar", "en")))
    visit(page, arabic, source="en", target="ar")
    translate(page, "hello there")
    target = page.locator("#target")
    expect(target).to_have_attribute("dir", "rtl")
    expect(target).to_have_attribute("lang", "ar")
    first = page.locator("#target .w").first
    first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#target .w").nth(1)).to_be_focused()
    page.locator("#swap").click()
    expect(page.locator("#source")).to_have_attribute("dir", "rtl")
    expect(target).to_have_attribute("dir", "ltr")


def test_all_is_done_with_the_keyboard(page: Page, site: Site) -> None:
    visit(page, site)
    page.keyboard.press("Tab")
    reached: list[str] = []
    for _ in range(40):
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.name"))
        if reached.count("source") == 1 and reached[-1] == "source":
            page.keyboard.type("hello you")
            expect_translation(page, "HELLO YOU")
        page.keyboard.press("Tab")
    assert {"interface", "from", "to", "source", "clear", "copy", "share"} <= set(reached)
    assert {"tab-sentences", "theme", "choose-file"} <= set(reached)
    assert reached.index("from") < reached.index("source") < reached.index("copy")
    page.locator("#tab-sentences").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#panel-request")).to_be_visible()
    expect(page.locator("#tab-request")).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator("#panel-engine")).to_be_visible()


def test_a_screen_reader_hears_each_sentence_once(page: Page, site: Site) -> None:
    visit(page, site)
    page.evaluate(
        """window.said = []; new MutationObserver(() => said.push(
          document.querySelector('#announcer').textContent)).observe(
          document.querySelector('#announcer'), {childList: true, characterData: true})"""
    )
    translate(page, "One day. Two days.")
    translate(page, "One day. Two days. Three.")
    said = page.evaluate("window.said")
    assert len(said) <= 4
    heard = " ".join(said)
    for sentence in ("ONE DAY.", "TWO DAYS.", "THREE."):
        assert heard.count(sentence) == 1
    expect(page.locator("#target")).not_to_have_attribute("aria-live", "polite")


# The API reference at /docs


def open_reference(page: Page, site: Site) -> None:
    page.set_default_timeout(60_000)  # Swagger UI is 1.5 MB of script
    page.goto(site.url + "docs")
    page.locator(".opblock").first.wait_for()


def test_every_operation_is_shown_on_any_screen_and_no_other_host_is_asked(
    page: Page, site: Site
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_reference(page, site)
    document = json.loads(page.request.get(site.url + "openapi.json").text())
    expect(page.locator(".opblock")).to_have_count(sum(map(len, document["paths"].values())))
    foreign = [url for url in asked if not url.startswith((site.url, "data:"))]
    assert foreign == []
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_an_operation_is_tried_out(page: Page, site: Site) -> None:
    open_reference(page, site)
    operation = page.locator("[id='operations-Translation-translate']")
    operation.locator(".opblock-summary-control").click()
    operation.locator(".try-out__btn").click()
    fields = {"q": "a big dog", "source": "en", "target": "de"}
    operation.locator("textarea").first.fill(json.dumps(fields))
    operation.locator("button.execute").click()
    answer = operation.locator(".live-responses-table .response").first
    expect(answer.locator(".response-col_status")).to_contain_text("200")
    expect(answer.locator(".highlight-code").first).to_contain_text("A BIG DOG")


def test_a_colour_scheme_that_changes_is_followed(page: Page, site: Site) -> None:
    page.emulate_media(color_scheme="light")
    open_reference(page, site)
    expect(page.locator("html.dark-mode")).to_have_count(0)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html.dark-mode")).to_have_count(1)
