"""Make the pictures of docs/page.md: python -m tests.browser.screenshots URL of a server that runs.

Needs Chromium, a font with Chinese, and Pillow (which matplotlib brings).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.actions import paste
from tests.browser.conftest import CHROMIUM

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TEXT = "我昨天和汤姆一起去图书馆看书。他的银行在河边。你想喝咖啡还是茶？"


def main(url: str) -> None:
    states: dict[str, tuple[int, str, Callable[[Page], None]]] = {
        "page": (1280, "light", translated),
        "page-phone": (360, "light", translated),
        "page-engine": (1280, "light", engine),
        "page-attention": (1280, "light", attention),
        "page-search": (1280, "dark", search),
        "page-formatted": (1024, "light", formatted),
    }
    expect.set_options(timeout=60_000)  # the server and Chromium may share the machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (width, colours, act) in states.items():
            _take(browser, url, IMAGES / f"{name}.webp", width, colours, act)
        browser.close()


def _take(
    browser: Browser, url: str, path: Path, width: int, colours: str, act: Callable[[Page], None]
) -> None:
    viewport = {"width": width, "height": 780 if width > 400 else 900}
    context = browser.new_context(
        locale="en-GB",
        viewport=viewport,  # type: ignore[arg-type]
        color_scheme=colours,  # type: ignore[arg-type]
        device_scale_factor=1.5,
    )
    page = context.new_page()
    page.goto(f"{url}?source=auto&target=en")
    act(page)
    image = Image.open(io.BytesIO(page.screenshot()))
    image.save(path, quality=82, method=6)
    context.close()


def translated(page: Page) -> None:
    page.locator("#source").fill(TEXT)
    expect(page.locator("#target .w").first).to_be_visible()
    doubtful = page.locator("#target .is-doubtful")
    (doubtful if doubtful.count() else page.locator("#target .w")).first.hover()


def engine(page: Page) -> None:
    """Each text is new, because the server remembers what it translated."""
    page.locator("#tab-engine").click()
    for second in range(24):
        lines = [
            f"我有{second * 31 + line}本书，你想看{line}本吗？"
            for line in range(6 + second * 7 % 9)
        ]
        page.locator("#source").fill("\n".join(lines))
        page.wait_for_timeout(900)
    page.locator(".tabs").evaluate("(e) => scrollTo(0, e.offsetTop)")


def attention(page: Page) -> None:
    translated(page)
    page.locator("#source").fill("我昨天和汤姆一起去图书馆看书。")
    page.locator("#tab-model").click()
    expect(page.locator(".attention .scroll canvas")).to_be_visible()
    for _ in range(4):
        page.get_by_label("Step forward").click()
    page.locator(".tabs").evaluate("(e) => scrollTo(0, e.offsetTop)")


def search(page: Page) -> None:
    attention(page)
    page.locator("#panel-model label:has([value=search])").click()
    expect(page.locator(".tree svg")).to_be_visible()
    for _ in range(6):
        page.get_by_label("Step forward").click()
    page.locator(".tabs").evaluate("(e) => scrollTo(0, e.offsetTop)")


def formatted(page: Page) -> None:
    page.locator("#from").select_option("en")
    page.locator("#to").select_option("de")
    items = "<ul><li>Please come back <i>tomorrow</i>.</li></ul>"
    html = f"<h2>The library</h2><p>It is <b>closed</b> today.</p>{items}"
    paste(page, html)
    expect(page.locator("#target li")).to_be_visible()
    page.wait_for_timeout(500)


if __name__ == "__main__":
    main(sys.argv[1])
