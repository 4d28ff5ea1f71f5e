"""What is loaded when it is first wanted: files, formatted text, glossary, words, the model."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from service.stores.suggestions import SuggestionStore
from tests.browser.actions import choose, open_tab, paste, sent_messages, translate, visit, write
from tests.browser.conftest import MakeSite, Site
from tests.service.fakes import until

# Loading


def test_parts_are_loaded_when_they_are_wanted_and_not_before(page: Page, site: Site) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(site.url)))
    visit(page, site)
    assert not [path for path in asked if "parts/" in path]
    open_tab(page, "engine")
    expect(page.locator("#engine h3")).to_be_visible()
    assert "page/parts/engine.js" in asked
    assert "page/parts/study.js" not in asked


# Formatted text


def shape(page: Page, selector: str) -> str:
    """The elements and texts below an element, in short."""
    text: str = page.evaluate(
        """(selector) => { const walk = (n) => n.nodeType === 3 ? n.data
          : `<${n.localName}>${[...n.childNodes].map(walk).join('')}</${n.localName}>`;
          return [...document.querySelector(selector).childNodes].map(walk).join(''); }""",
        selector,
    )
    return text


def test_formatted_text_is_pasted_translated_and_copied_with_its_formatting(
    page: Page, site: Site
) -> None:
    visit(page, site)
    assert paste(page, "<p>A <b>big</b> dog.</p><p>A cat.</p>")
    expect(page.locator("#rich")).to_be_focused()
    expect(page.locator("#target p")).to_have_text(["A BIG DOG.", "A CAT."])
    assert shape(page, "#target") == "<p>A <b>BIG</b> DOG.</p><p>A CAT.</p>"
    expect(page.locator("#source")).to_be_hidden()
    page.locator("#copy").click()
    expect(page.locator("#status")).to_contain_text("Copied")
    copied = page.evaluate(
        """async () => { const [item] = await navigator.clipboard.read();
          const text = async (type) => (await item.getType(type)).text();
          return [await text('text/html'), await text('text/plain')]; }"""
    )
    assert "<b>BIG</b>" in copied[0]
    assert copied[1].split() == ["A", "BIG", "DOG.", "A", "CAT."]
    expect(page.locator("#sentences article")).to_have_count(2)
    expect(page.locator("#legend")).to_be_hidden()  # no word is marked
    page.locator("#clear").click()
    paste(page, "<table><tr><td>one</td> <td>two</td></tr><tr><td>three</td></tr></table>")
    expect(page.locator("#alternatives li").first).to_have_text("ONE* TWO* THREE*")


def test_what_is_pasted_keeps_its_formatting_or_its_lines(page: Page, site: Site) -> None:
    """Formatted text in place of the whole text, and lines into formatted text, with undo."""
    visit(page, site)
    write(page, "old text")
    page.locator("#source").press("ControlOrMeta+a")
    assert paste(page, "<p>A <b>big</b> dog.</p>")
    expect(page.locator("#target b")).to_have_text("BIG")
    page.locator("#rich").press("ControlOrMeta+End")
    paste(page, "", " One.\nTwo.", "#rich")
    expect(page.locator("#target p")).to_have_text(["A BIG DOG. ONE.", "TWO."])
    page.locator("#rich").press("ControlOrMeta+z")
    expect(page.locator("#target p")).to_have_text(["A BIG DOG."])
    page.locator("#interface").select_option("de")
    expect(page.locator("#rich")).to_have_attribute("aria-label", "Zu übersetzender Text")


@pytest.mark.parametrize(
    "bold",
    [
        "<b style='mso-bidi-font-weight:normal'>big</b>",
        "<b style='font-weight:normal'><span style='color:red;font-weight:700'>big</span></b>",
        "<b style='font-weight:normal'><span style='font-weight: bold'>b<span>i</span>g</span></b>",
    ],
)
def test_bold_and_italics_of_other_programs_are_kept(page: Page, site: Site, bold: str) -> None:
    """Word's tags have styles, and Google Docs has styles only."""
    visit(page, site)
    italic = "<span style='font-style:italic'>old</span>"
    paste(page, f"<p><span style='font-weight:400'>A {bold} and {italic} dog.</span></p>")
    expect(page.locator("#target :is(b, strong)")).to_have_text("BIG")
    expect(page.locator("#target i")).to_have_text("OLD")


HOSTILE = [
    "<b>x</b><img src=x onerror=alert(1)>",
    "<b>x</b><script>alert(1)</script>",
    "<b>x</b><a href='javascript:alert(1)'>y</a>",
    "<b>x</b><svg><script>alert(1)</script></svg>",
    "<b>x</b><iframe srcdoc='<script>alert(1)</script>'></iframe>",
]


@pytest.mark.parametrize("html", HOSTILE)
def test_hostile_markup_is_neither_run_nor_kept(page: Page, site: Site, html: str) -> None:
    """Only allowed elements are built, and of their attributes only addresses of the web."""
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    visit(page, site)
    paste(page, html)
    expect(page.locator("#target")).to_contain_text("X")
    for pane in ("#rich", "#target"):
        names = set(re.findall(r"</([a-z0-9]+)>", shape(page, pane)))
        assert names <= {"b", "a", "div", "p"}, pane
        attributes = page.evaluate(
            "(s) => [...document.querySelectorAll(s + ' *')].flatMap((e) => e.getAttributeNames())",
            pane,
        )
        assert attributes == []
    assert page.evaluate("window.scrollX") == 0


# Files


def test_a_file_is_translated_and_saved(page: Page, site: Site) -> None:
    visit(page, site)
    choose(page, ("letter.txt", "Grüße. A day.".encode()))
    link = page.locator("#files a")
    expect(link).to_have_text("Save letter.de.txt")
    with page.expect_download() as saving:
        link.click()
    assert saving.value.suggested_filename == "letter.de.txt"
    assert saving.value.path().read_text(encoding="utf-8") == "GRÜßE. A DAY.".replace("ß", "SS")


def test_a_file_shows_its_share_survives_a_reload_and_can_be_cancelled(
    page: Page, site: Site
) -> None:
    visit(page, site)
    choose(page, ("book.txt", b"".join(b"This is line %d.\n" % n for n in range(20_000))))
    state = page.locator(".file .note")
    expect(state).to_have_text(re.compile(r"^\d+% translated, .* left$"), timeout=60_000)
    assert 0 < page.locator(".file progress").evaluate("(bar) => bar.value") < 1
    page.reload()
    expect(page.locator(".file .name")).to_have_text("book.txt")
    expect(state).to_have_text(re.compile(r"^\d+% translated, .* left$"), timeout=60_000)
    page.locator("#files [aria-label='Remove book.txt']").click()
    expect(page.locator(".file")).to_have_count(0)
    until(lambda: site.served.count("dragoman_documents_running") == 0)
    page.reload()
    expect(page.locator("#from option")).not_to_have_count(0)
    expect(page.locator(".file")).to_have_count(0)


def test_a_file_that_is_done_after_a_reload_is_saved(page: Page, site: Site) -> None:
    visit(page, site)
    site.runner.gate.clear()
    choose(page, ("letter.txt", b"A day."), ("broken.docx", b"no archive"))
    expect(page.locator(".is-wrong")).to_contain_text("ZIP")
    page.reload()
    expect(page.locator(".file .name")).to_have_text(["letter.txt"])
    site.runner.gate.set()
    with page.expect_download() as saving:
        page.locator("#files a").click()
    assert saving.value.path().read_text(encoding="utf-8") == "A DAY."


def test_files_are_dropped_in_and_go_one_after_the_other(page: Page, site: Site) -> None:
    visit(page, site)
    page.evaluate(
        """() => { const data = new DataTransfer();
          for (const n of ['a', 'b']) data.items.add(new File([n + ' file'], n + '.txt'));
          for (const kind of ['dragover', 'drop']) document.body.dispatchEvent(
            new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true})); }"""
    )
    expect(page.locator("#files a")).to_have_text(["Save a.de.txt", "Save b.de.txt"])
    page.locator("#files [aria-label='Remove a.txt']").click()
    expect(page.locator(".file")).to_have_count(1)


def test_no_file_of_many_is_left_out(page: Page, site: Site) -> None:
    visit(page, site)
    choose(page, *((f"{n}.txt", b"a") for n in range(25)))
    expect(page.locator("#files a")).to_have_count(25, timeout=20_000)


def test_a_file_of_another_kind_is_refused_with_those_that_are_possible(
    page: Page, site: Site
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, site)
    choose(page, ("<img src=x>.jpeg", b"x"), ("good.txt", b"good"))
    formats = httpx.get(f"{site.url}frontend/settings").json()["supportedFilesFormat"]
    expect(page.locator(".is-wrong")).to_contain_text(", ".join(formats))
    expect(page.locator("#files a")).to_have_count(1)
    assert page.locator("#files img").count() == 0
    assert sum(url.endswith("/documents") for url in asked) == 1


def test_a_file_of_an_older_format_is_refused_with_the_one_to_save_it_as(
    page: Page, site: Site
) -> None:
    visit(page, site)
    choose(page, ("Letter.DOC", b"x"))
    told = ".doc files are not read. Save this one as .docx."
    expect(page.locator(".is-wrong")).to_have_text(told)


def test_a_file_is_detected_by_itself(page: Page, site: Site) -> None:
    """Not by the text beside it. One that is in the target language is said to be so, or goes to
    another language if nobody chose."""
    page.goto(site.url)
    write(page, "This is a sentence in English.")
    expect(page.locator("#to")).to_have_value("zh")
    choose(page, ("en.txt", b"A day in the library."), ("zh.txt", "图书馆在哪里？".encode()))
    expect(page.locator("#files a")).to_have_count(2, timeout=20_000)
    expect(page.locator("#files a")).to_have_text(["Save en.zh.txt", "Save zh.en.txt"])
    page.locator("#to").select_option("en")
    choose(page, ("same.txt", b"A day in the library."))
    expect(page.locator("#files .is-wrong")).to_have_text("This is English already.")


# Glossary


def test_a_glossary_is_edited_sent_and_kept_for_its_languages(page: Page, site: Site) -> None:
    sent = sent_messages(page)
    visit(page, site)
    open_tab(page, "glossary")
    fields = page.locator(".terms input")
    fields.nth(0).fill(" river bank ")
    fields.nth(1).fill("Ufer")
    fields.nth(1).press("Enter")
    expect(fields.nth(2)).to_be_focused()
    fields.nth(2).fill("half of a term")
    translate(page, "hello")
    assert sent[-1]["glossary"] == [{"source": "river bank", "target": "Ufer"}]
    open_tab(page, "request")
    expect(page.locator("#request")).to_contain_text('"glossary":[{"source":"river bank"')
    page.locator("#to").select_option("zh")
    until(lambda: page.wait_for_timeout(50) is None and sent[-1].get("target") == "zh")
    assert "glossary" not in sent[-1]
    visit(page, site)
    open_tab(page, "glossary")
    expect(page.locator(".terms input").first).to_have_value(" river bank ")
    page.locator("#panel-glossary [aria-label=Remove]").first.click()
    expect(page.locator(".terms li")).to_have_count(1)
    page.locator("#panel-glossary .tool").nth(1).click()
    assert page.evaluate("localStorage.getItem('dragoman.glossaries')") == "{}"


def test_a_glossary_keeps_the_terms_of_two_tabs(page: Page, site: Site) -> None:
    other = page.context.new_page()
    for one in (page, other):
        visit(one, site)
        open_tab(one, "glossary")
    page.locator(".terms input").nth(0).fill("bank")
    page.locator(".terms input").nth(1).fill("Ufer")
    expect(other.locator(".terms input").nth(1)).to_have_value("Ufer")
    other.locator(".terms input").nth(1).press("Enter")
    other.locator(".terms input").nth(2).fill("half")
    expect(page.locator(".terms input").nth(2)).to_have_value("half")
    expect(page.locator(".terms input").nth(0)).to_have_value("bank")


def test_a_glossary_is_refused_where_two_models_translate(page: Page, make_site: MakeSite) -> None:
    """And is not sent."""
    page.add_init_script("""localStorage.setItem('dragoman.glossaries',
        '{"zh de": [{"source": "a", "target": "b"}]}')""")
    visit(page, make_site(), source="zh", target="de")
    translate(page, "abc")
    open_tab(page, "glossary")
    expect(page.locator("#panel-glossary")).to_contain_text("from Chinese to German, because no")


# Other words

WORDS = [
    {"text": " CAT", "probability": 0.6, "translation": "A CAT."},
    {"text": "CAT", "probability": 0.3, "translation": "ACAT."},  # no words, but for the first
    {"text": ",", "probability": 0.2, "translation": "A,"},
    {"text": " OWL", "probability": 0.0003, "translation": "A OWL."},
    {"text": " <b>FOX", "probability": 0.1, "translation": "A <b>FOX."},
]


def test_a_word_is_replaced_and_the_rest_translated_anew(page: Page, site: Site) -> None:
    asked: list[dict[str, Any]] = []

    def answer(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(json={"words": WORDS})

    page.route("**/translate/next", answer)
    sent = sent_messages(page)
    visit(page, site)
    translate(page, "One day. A dog.")
    page.locator("#target .w", has_text="DOG").click()
    box = page.locator("#next-words")
    expect(box.locator("button")).to_have_count(2)
    expect(box).to_contain_text("60%")
    expect(box.locator(".rest").nth(1)).to_have_text("A <b>FOX.")
    assert asked == [{"q": "A dog.", "source": "en", "target": "de", "prefix": "A", "k": 6}]
    box.locator("button").first.click()
    expect(box).to_be_hidden()
    until(lambda: page.wait_for_timeout(50) is None and "target_prefix" in sent[-1])
    assert sent[-1]["target_prefix"] == ["", "A CAT"]
    expect(page.locator("#target")).to_contain_text("A CAT")
    expect(page.locator("#target .w").nth(3)).to_be_focused()
    translate(page, "new text")
    assert "target_prefix" not in sent[-1]


def test_a_single_word_shows_its_likeliest_translations(page: Page, site: Site) -> None:
    asked: list[Any] = []
    words = [
        {"text": "Bank", "probability": 0.8, "translation": "Bank"},
        {"text": " Bank", "probability": 0.05, "translation": "Bank"},
        {"text": "Ufer", "probability": 0.02, "translation": "das <b>Ufer"},
        {"text": ".", "probability": 0.02, "translation": "."},
        {"text": "Pflege", "probability": 0.0001, "translation": "Pflege"},
    ]

    def answer(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(json={"words": words, "end": 0.0, "sentence": 0})

    page.route("**/translate/next", answer)
    visit(page, site)
    translate(page, "bank")
    expect(page.locator("#one-word li")).to_have_text(["Bank80%", "das <b>Ufer2%"])
    assert asked == [{"q": "bank", "source": "en", "target": "de", "k": 8}]
    translate(page, "the bank")
    expect(page.locator("#one-word")).to_have_count(0)
    page.wait_for_timeout(1000)
    assert len(asked) == 1


# Suggestions


def test_a_better_translation_is_suggested_where_the_server_stores_it(
    page: Page, make_site: MakeSite, tmp_path: Path
) -> None:
    visit(page, make_site())
    translate(page, "A day.")
    expect(page.locator("#legend")).to_be_visible()
    expect(page.get_by_role("button", name="Suggest")).to_have_count(0)
    database = tmp_path / "server.db"
    visit(page, make_site(database=database, suggestions=True))
    translate(page, "A day.")
    page.get_by_role("button", name="Suggest").click()
    field = page.get_by_label("A better translation")
    expect(field).to_have_value("A DAY.")
    field.fill("Ein Tag.")
    page.get_by_role("button", name="Send the suggestion").click()
    expect(page.locator("#suggestion + .note")).to_contain_text("Thank you.")
    with closing(SuggestionStore(database)) as store:
        (stored,) = store.read(is_approved=False)
    assert (stored.pair, stored.suggestion) == (("en", "de", "text", "A day."), "Ein Tag.")


# The model


def test_the_attention_is_stepped_through_token_by_token(page: Page, site: Site) -> None:
    visit(page, site)
    translate(page, "abc")
    open_tab(page, "model")
    expect(page.locator(".attention .scroll canvas")).to_be_visible()
    expect(page.locator(".told")).to_contain_text("A looks at: ␁ 100%")
    page.get_by_label("Step forward").click()
    expect(page.locator(".told")).to_contain_text("B looks at")
    expect(page.locator(".stepper")).to_contain_text("2 of 4")
    page.locator(".matrix summary").click()
    expect(page.locator(".matrix tbody tr")).to_have_count(4)
    page.locator("#panel-model label:has([value=encoder])").click()
    expect(page.locator(".matrix tbody tr")).to_have_count(5)
    expect(page.locator(".attention aside")).to_contain_text("model/network/layers.py")
    picture = page.locator(".attention canvas[role=img]")
    expect(picture).to_have_attribute("aria-label", re.compile("Source to source.*5 by 5"))
    write(page, "abcdefghijklmnopqrstuvwxyz")
    expect(picture).to_have_attribute("aria-label", re.compile("27 by 28"))
    assert picture.evaluate("({parentElement: p}) => p.scrollHeight <= p.clientHeight")


def test_the_model_is_shown_at_the_alternative_that_was_taken(page: Page, site: Site) -> None:
    """The fake model goes on after the beginning that it is given."""
    visit(page, site)
    translate(page, "A day.")
    open_tab(page, "model")
    stepper = page.locator(".stepper")
    expect(stepper).to_contain_text(f"of {len('A DAY.') + 1}")
    page.locator("#alternatives button").first.click()
    expect(stepper).to_contain_text(f"of {len('A DAY.*A DAY.') + 1}")


def test_the_search_grows_as_a_tree(page: Page, site: Site) -> None:
    visit(page, site)
    translate(page, "abc")
    open_tab(page, "model")
    page.locator("#panel-model label:has([value=search])").click()
    visible = page.locator(".tree g:not(.is-hidden) > .node")
    expect(visible).to_have_count(2)
    page.get_by_label("Step forward").click()
    expect(visible).to_have_count(4)
    expect(page.locator(".candidates tbody th")).to_have_text(["AB", "A*"])
    expect(page.locator(".candidates .is-best")).to_contain_text("kept")
    expect(page.locator(".likeliest li")).to_have_text([re.compile("B.*60%"), re.compile("20%")])
    page.locator(".stepper input").press("End")
    expect(visible).to_have_count(8)
    expect(page.locator(".candidates tbody tr").first).to_contain_text("ended")
    expect(page.locator(".search")).to_contain_text("section 6.1")
    page.get_by_label("Play").click()
    expect(page.locator(".stepper")).to_contain_text("3 of 4", timeout=5000)
