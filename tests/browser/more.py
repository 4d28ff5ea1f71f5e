"""Below the panes: sentences and words, the request as code, history, options, the engine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, expect

from model.decoding.sentence import StepResult
from tests.browser.actions import (
    expect_translation,
    open_tab,
    paste,
    sent_messages,
    translate,
    visit,
    write,
)
from tests.browser.conftest import MakeSite, Site
from tests.service.fakes import FakeRunner

# Sentences and words


class UnsureRunner(FakeRunner):
    """Gives the letter X a small probability, and all others a high one."""

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        result = super().step(handles)
        for finished in result.finished:
            for hypothesis in finished.hypotheses:
                for place, token in enumerate(hypothesis.ids):
                    hypothesis.log_probs[place] = -3.0 if token == ord("X") else -0.1
        return result


def test_a_doubtful_word_is_underlined_and_says_why(page: Page, make_site: MakeSite) -> None:
    """The fake model is calibrated for this pair."""
    visit(page, make_site(UnsureRunner()))
    write(page, "sure xylophone")
    doubtful = page.locator("#target .is-doubtful")
    expect(doubtful).to_have_text("XYLOPHONE")
    doubtful.hover()
    why = re.compile(r"“XYLOPHONE” is doubtful: people translate only \d+% of such words")
    expect(page.locator("#word-note")).to_have_text(why)
    facts = page.locator("#sentences .facts")
    expect(facts).to_contain_text("XYLOPHONE (")
    expect(facts.locator("dt").first).to_have_text("Confidence")
    page.locator("#target .w").first.hover()
    expect(page.locator("#word-note")).to_contain_text("“SURE”: people translate")


def test_words_are_reached_with_the_arrow_keys(page: Page, site: Site) -> None:
    visit(page, site)
    translate(page, "one two three")
    page.locator("#target .w").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#word-note")).to_contain_text("TWO")
    page.keyboard.press("End")
    expect(page.locator("#word-note")).to_contain_text("THREE")
    assert page.locator("#target .w[tabindex='0']").count() == 1


def test_a_word_lights_up_its_counterparts_counted_in_code_points(page: Page, site: Site) -> None:
    """𝐀 is one code point and two UTF-16 units; the fake runner aligns each with its own place."""
    visit(page, site)
    translate(page, "𝐀 big dog. 𝐁 cat.")
    for word in ("BIG", "𝐀", "𝐁", "CAT"):
        page.locator("#target .w", has_text=word).hover()
        expect(page.locator("#mirror mark")).to_have_text([word.lower()])
        expect(page.locator("#word-note")).to_contain_text(f"In the source: {word.lower()}.")
    page.locator("#tab-request").hover()
    expect(page.locator("#mirror mark")).to_have_count(0)
    page.locator("#source").focus()
    page.keyboard.press("End")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#target .is-lit")).to_have_text("CAT")
    expect(page.locator("#legend")).to_contain_text("counterpart")


def test_alternatives_are_shown_as_many_as_asked_for(page: Page, site: Site) -> None:
    visit(page, site)
    write(page, "hello")
    expect(page.locator("#alternatives li")).to_have_text(["HELLO*", "HELLO**"])
    page.locator("#alternatives button").first.click()
    expect_translation(page, "HELLO*")
    expect(page.locator("#alternatives li")).to_have_text(["HELLO", "HELLO**"])
    expect(page.locator("#alternatives button").first).to_be_focused()
    open_tab(page, "options")
    page.locator("[name=alternatives]").fill("1")
    expect(page.locator("#alternatives li")).to_have_text(["HELLO*"])
    expect_translation(page, "HELLO")
    page.locator("[name=alternatives]").fill("0")
    expect(page.locator("#alternatives")).to_be_hidden()


# The request as code

NODE = shutil.which("node")


@pytest.mark.parametrize("form", ["curl", "python", "javascript"])
@pytest.mark.parametrize("mode", ["search", "sampling"])
def test_the_code_with_every_option_runs_too(page: Page, site: Site, form: str, mode: str) -> None:
    terms = json.dumps({"en de": [{"source": "bank", "target": 'U\'fer \\ "x"'}]})
    page.add_init_script(f"localStorage.setItem('dragoman.glossaries', {json.dumps(terms)})")
    visit(page, site)
    open_tab(page, "options")
    page.locator("[name=mode]").select_option(mode)
    values = {
        "search": {"alternatives": "1", "beam_size": "3"},
        "sampling": {"temperature": "0.7", "top_p": "0.9", "seed": "5"},
    }
    for name, value in {**values[mode], "length_penalty": "1.5", "keep": "Tom's, $HOME"}.items():
        page.locator(f"[name={name}]").fill(value)
    paste(page, "<p>Tom's <b>$HOME</b> bank</p>")
    expect(page.locator("#target b")).to_have_text("$HOME")
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "false")
    told = ran_code(page, form)
    assert "<b>$HOME</b>" in told
    assert ("U'fer" in told) == (mode == "search")


def ran_code(page: Page, form: str) -> str:
    """Copy the request in this form, run it, and return the translation that it prints."""
    open_tab(page, "request")
    page.locator(f"#forms label:has([value={form}])").click()
    page.locator("#copy-request").click()
    expect(page.locator("#status")).to_contain_text("Copied")
    code = page.evaluate("navigator.clipboard.readText()")
    assert "\u202e" not in code
    commands = {
        "curl": ["bash", "-c", code],
        "python": [sys.executable, "-c", code],
        "javascript": [NODE or "node", "--input-type=module", "-e", code],
    }
    ran = subprocess.run(commands[form], capture_output=True, text=True, check=True, timeout=60)
    return str(json.loads(ran.stdout)["translatedText"]) if form == "curl" else ran.stdout[:-1]


# History


def test_the_history_is_kept_searched_opened_and_cleared(page: Page, site: Site) -> None:
    visit(page, site)
    open_tab(page, "history")
    entries = page.locator("#history li")
    for number, text in enumerate(("first words", "second thoughts"), 1):
        write(page, text)
        expect(entries).to_have_count(number)
    page.reload()
    open_tab(page, "history")
    expect(entries).to_have_count(2)
    page.locator("#search").fill("FIRST")
    expect(entries).to_have_count(1)
    page.locator("#history .entry").click()
    expect(page.locator("#source")).to_have_value("first words")
    page.locator("#search").fill("nothing like it")
    expect(page.locator("#no-history")).to_have_text("Nothing matches.")
    page.locator("#search").fill("")
    page.locator("#history [aria-label=Remove]").first.click()
    expect(entries).to_have_count(1)
    page.locator("#clear-history").click()
    expect(entries).to_have_count(0)
    assert page.evaluate("localStorage.getItem('dragoman.history')") == "[]"


def test_a_history_that_is_off_keeps_nothing(page: Page, site: Site) -> None:
    visit(page, site)
    open_tab(page, "history")
    expect(page.locator("#keep-history")).to_be_checked()  # uncheck() does not wait for the part
    page.locator("#keep-history").uncheck()
    expect(page.locator("#no-history")).to_have_text("The history is off.")
    translate(page, "private")
    page.reload()
    expect(page.locator("#keep-history")).not_to_be_checked()
    page.locator("#keep-history").check()
    write(page, "public")
    expect(page.locator("#history li")).to_have_count(1)
    assert "private" not in page.evaluate("JSON.stringify(localStorage)")


def test_the_history_holds_a_hundred_texts_at_most(page: Page, site: Site) -> None:
    entries = [
        {"from": "en", "to": "de", "text": f"text {n}", "translation": "T"} for n in range(300)
    ]
    stored = json.dumps(json.dumps(entries))
    page.add_init_script(f"localStorage.setItem('dragoman.history', {stored})")
    visit(page, site)
    open_tab(page, "history")
    write(page, "one more")
    expect(page.locator("#history li").first).to_contain_text("one more")
    expect(page.locator("#history li")).to_have_count(100)


FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }"
BLOCKED = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no') }})"


@pytest.mark.parametrize("trouble", [FULL, BLOCKED])
def test_storage_that_is_full_or_blocked_stops_nothing(
    page: Page, site: Site, trouble: str
) -> None:
    page.add_init_script(trouble)
    visit(page, site)
    translate(page, "hello")
    open_tab(page, "history")
    expect(page.locator("#history li")).to_have_count(1)
    expect(page.locator("#no-history")).to_contain_text("ends with this visit")


# Options


def test_options_are_sent_and_kept_unless_they_are_out_of_bounds(page: Page, site: Site) -> None:
    sent = sent_messages(page)
    visit(page, site)
    open_tab(page, "options")
    beam_size = page.locator("[name=beam_size]")
    for value in ("999", "2.5", "-1"):
        beam_size.fill(value)
        expect(beam_size).to_have_attribute("aria-invalid", "true")
        expect(page.locator("#options-note")).to_contain_text("out of bounds")
    translate(page, "hello")
    assert "beam_size" not in sent[-1]
    expect(page.locator("#status")).to_be_hidden()
    page.locator("#options [type=reset]").click()
    expect(page.locator("#options-note")).to_have_text("")
    beam_size.fill("3")
    page.locator("[name=length_penalty]").fill("1.5")
    visit(page, site)
    expect(beam_size).to_have_value("3")
    page.locator("[name=keep]").fill(" tom,, Anna ，tom")
    write(page, "tom and Anna")
    expect_translation(page, "tom AND Anna")
    wanted = {"beam_size": 3, "length_penalty": 1.5, "keep": ["tom", "Anna"]}
    assert wanted.items() <= sent[-1].items()


def test_sampling_is_chosen_without_a_refusal_and_left_again(page: Page, site: Site) -> None:
    """The server draws one translation and refuses alternatives."""
    sent = sent_messages(page)
    visit(page, site)
    write(page, "hello")
    expect(page.locator("#alternatives li")).to_have_count(2)
    open_tab(page, "options")
    page.locator("[name=mode]").select_option("sampling")
    expect(page.locator("[name=alternatives]")).to_be_hidden()
    expect(page.locator("#alternatives")).to_be_hidden()
    expect(page.locator("#status")).to_be_hidden()
    assert sent[-1]["temperature"] == 1
    page.locator("[name=mode]").select_option("search")
    expect(page.locator("#alternatives li")).to_have_count(2)


# The engine


def test_the_engine_shows_its_numbers_and_no_text(page: Page, site: Site) -> None:
    visit(page, site)
    translate(page, "hello")
    open_tab(page, "engine")
    panel = page.locator("#engine")
    expect(panel.locator("h3")).to_have_text(re.compile("fake.*cpu"))
    expect(page.locator("#panel-engine article")).to_have_count(1)
    expect(panel).to_contain_text("of 4")
    expect(panel.locator("dd", has_text="ms").first).to_be_visible()
    assert "hello" not in (panel.text_content() or "").lower()
