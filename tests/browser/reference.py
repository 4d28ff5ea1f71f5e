"""The API reference at /docs: it renders and asks this server only, in light and dark colours."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site


def open_reference(page: Page, site: Site) -> None:
    page.set_default_timeout(60_000)  # Swagger UI is 1.5 MB of script
    page.goto(site.url + "docs")
    page.locator(".opblock").first.wait_for()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_operation_is_shown_and_no_other_host_is_asked(
    page: Page, site: Site, colours: str
) -> None:
    page.emulate_media(color_scheme=colours)  # type: ignore[arg-type]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_reference(page, site)
    document = json.loads(page.request.get(site.url + "openapi.json").text())
    expect(page.locator(".opblock")).to_have_count(sum(map(len, document["paths"].values())))
    foreign = [url for url in asked if not url.startswith((site.url, "data:"))]
    assert foreign == []
    assert page.locator("html.dark-mode").count() == (colours == "dark")


def test_an_operation_is_tried_out(page: Page, site: Site) -> None:
    open_reference(page, site)
    operation = page.locator("[id='operations-Translation-translate_translate_post']")
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


def test_a_small_screen_shows_it_whole(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 320, "height": 800})
    open_reference(page, site)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
