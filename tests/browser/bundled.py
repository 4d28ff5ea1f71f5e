"""The page with the bundled models: what only a real network shows."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import open_tab, visit, write
from tests.browser.conftest import Site
from tests.service.fakes import until

TEXT = "The library is closed today. Please come back tomorrow."


@pytest.fixture
def translated(page: Page, bundled_site: Site) -> Page:
    visit(page, bundled_site)
    write(page, TEXT)
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#target .w").nth(5)).to_be_visible()
    return page


def test_a_word_is_replaced_and_the_rest_is_translated_anew(translated: Page) -> None:
    translated.locator("#target .w").nth(1).click()
    buttons = translated.locator("#next-words button")
    expect(buttons.nth(1)).to_be_visible()
    shares = translated.locator("#next-words .word small").all_text_contents()
    names = translated.locator("#next-words .word bdi").all_text_contents()
    assert len(set(names)) == len(names)
    assert "0%" not in shares
    numbers = [int(re.sub(r"\D", "", share)) for share in shares]
    assert numbers == sorted(numbers, reverse=True)
    first = translated.locator("#target .w").first.text_content() or ""
    other = translated.locator("#next-words button:not([aria-current])").first
    word = other.locator(".word bdi").text_content() or ""
    whole = other.locator(".rest").text_content() or ""
    other.click()
    expect(translated.locator("#next-words")).to_be_hidden()
    target = translated.locator("#target")
    expect(target).to_contain_text(re.compile(f"^{re.escape(first)} ?{re.escape(word)}"))
    expect(translated.locator("#translation")).to_have_attribute("aria-busy", "false")
    assert (target.text_content() or "").startswith(whole)


def test_other_words_are_not_cut_off_by_a_short_text(page: Page, bundled_site: Site) -> None:
    visit(page, bundled_site)
    write(page, "A dog.")
    page.locator("#target .w").last.click()
    last = page.locator("#next-words button").last
    last.scroll_into_view_if_needed()
    assert last.evaluate(
        """(button) => { const { x, y, width, height } = button.getBoundingClientRect();
          return button.contains(document.elementFromPoint(x + width / 2, y + height - 3)); }"""
    )


def test_other_words_of_the_second_sentence_begin_there(translated: Page) -> None:
    asked: list[dict[str, object]] = []
    translated.on(
        "request",
        lambda r: asked.append(r.post_data_json) if r.url.endswith("/next") else None,
    )
    translated.locator("#target .w").last.click()
    expect(translated.locator("#next-words button").first).to_be_visible()
    assert asked[0]["q"] == "Please come back tomorrow."
    translated.keyboard.press("Escape")
    expect(translated.locator("#target .w").last).to_be_focused()


def test_a_word_and_its_counterpart_light_up_in_both_directions(translated: Page) -> None:
    word = translated.locator("#target .w", has_text=re.compile("Bibliothek", re.I)).first
    word.hover()
    expect(translated.locator("#mirror mark").first).to_have_text(re.compile("library", re.I))
    expect(translated.locator("#word-note")).to_contain_text("In the source: ")
    translated.locator("#source").focus()
    translated.keyboard.press("Control+Home")
    for _ in range(6):
        translated.keyboard.press("ArrowRight")
    expect(translated.locator("#target .is-lit").first).to_have_text(re.compile("Bibliothek", re.I))


def test_every_layer_and_head_can_be_seen_with_its_section_and_file(translated: Page) -> None:
    open_tab(translated, "model")
    heads = translated.locator(".heads button")
    expect(heads.first).to_be_visible()
    layers = translated.locator(".heads [role=group]")
    assert layers.count() >= 1
    count = heads.count()
    assert count % layers.count() == 0
    heads.nth(count - 1).click()
    expect(heads.nth(count - 1)).to_have_attribute("aria-pressed", "true")
    aside = translated.locator(".attention aside")
    expect(aside).to_contain_text("section 3.2")
    expect(aside).to_contain_text("model/network/attention_maps.py")
    for kind in ("encoder", "decoder"):
        translated.locator(f"#panel-model label:has([value={kind}])").click()
        expect(translated.locator(".attention .scroll canvas")).to_be_visible()


def test_the_search_of_a_sentence_ends_with_the_translation(translated: Page) -> None:
    open_tab(translated, "model")
    translated.locator("#panel-model label:has([value=search])").click()
    expect(translated.locator(".tree svg")).to_be_visible()
    translated.locator(".stepper input").press("End")
    expect(translated.locator(".candidates")).to_contain_text("ended")
    expect(translated.locator(".likeliest li").first).to_contain_text("%")
    expect(translated.locator(".search")).to_contain_text("section 6.1")
    expect(translated.locator(".search")).to_contain_text("model/decoding/")


def test_the_engine_tells_percentiles_tokens_and_cache_hits(
    translated: Page, bundled_site: Site
) -> None:
    body = {"q": TEXT, "source": "en", "target": "de", "alternatives": 2, "details": True}
    for _ in range(2):
        assert httpx.post(f"{bundled_site.url}translate", json=body).status_code == 200
    open_tab(translated, "engine")
    model = translated.locator("#engine .model", has_text="en-de")

    def value(name: str) -> str:
        return model.locator(f"dt:text-is('{name}') + dd").text_content() or ""

    expect(model.locator("dt", has_text="Cache hits")).to_be_visible()
    until(lambda: translated.wait_for_timeout(100) is None and value("Cache hits") != "–")
    assert re.fullmatch(r"\d+%", value("Cache hits"))
    for name in ("First token (50 %)", "First token (95 %)", "First token (99 %)", "Step (50 %)"):
        assert re.fullmatch(r"[\d.,]+ ms", value(name)), name


@pytest.mark.parametrize("status", [401, 403])
def test_where_a_proxy_protects_the_engine_the_page_says_so(
    page: Page, bundled_site: Site, status: int
) -> None:
    """The proxy is not ours: its answer stands in."""
    page.route("**/page/engine.*", lambda route: route.fulfill(status=status, body="no"))
    visit(page, bundled_site)
    open_tab(page, "engine")
    expect(page.locator("#no-engine")).to_contain_text("does not show its numbers")
    expect(page.locator(".batches")).to_be_hidden()
