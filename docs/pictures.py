"""Make the pictures of docs/page.md and the recording of the README: python -m docs.pictures
URL of a server that runs.

Needs Chromium, a font with Chinese, and Pillow (which matplotlib brings). Frames of the recording
are pictures of the page with the time that each is shown, so that it stays small.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.actions import paste
from tests.browser.conftest import CHROMIUM

IMAGES = Path(__file__).parent / "images"
CHINESE = "我昨天和汤姆一起去图书馆。他的银行在河边。你想喝咖啡还是茶？"
ENGLISH = "The library is closed today, because the river is very high."
MOST_BYTES, NUM_COLOURS = 3_000_000, 192
Take = Callable[[int], None]
"""Takes a frame that is shown for so many milliseconds."""


def main(url: str) -> None:
    states: dict[str, tuple[int, str, Callable[[Page, Take], None]]] = {
        "page": (1280, "light", translate),
        "page-phone": (360, "light", translate),
        "page-engine": (1280, "light", watch_engine),
        "page-attention": (1280, "light", follow_attention),
        "page-search": (1280, "dark", follow_search),
        "page-formatted": (1024, "light", paste_formatted),
    }
    expect.set_options(timeout=60_000)  # the server and Chromium may share the machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        def open_page(width: int, height: int, target: str, **options: Any) -> Page:
            size = {"width": width, "height": height}
            context = browser.new_context(locale="en-GB", viewport=size, **options)  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(f"{url}?source=auto&target={target}")
            return page

        for name, (width, colours, act) in states.items():
            height = 780 if width > 400 else 1000
            page = open_page(width, height, "en", color_scheme=colours, device_scale_factor=1.5)
            if act not in (watch_engine, paste_formatted):
                page.locator("#source").fill(CHINESE)
            act(page, lambda _: None)
            image = Image.open(io.BytesIO(page.screenshot()))
            image.save(IMAGES / f"{name}.webp", quality=82, method=6)
            page.context.close()
        record(open_page(960, 660, "de"))
        browser.close()


def record(page: Page) -> None:
    frames: list[tuple[Image.Image, int]] = []

    def take(milliseconds: int) -> None:
        frame = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        frames.append((frame, milliseconds))

    take(700)
    for start in range(0, len(ENGLISH), 3):
        page.locator("#source").press_sequentially(ENGLISH[start : start + 3], delay=30)
        take(110)
    translate(page, take)
    page.locator("#target .w").nth(1).click()
    take(1600)
    page.locator("#next-words button").nth(1).click()
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "false")
    take(1600)
    follow_attention(page, take)
    follow_search(page, take)
    watch_engine(page, take)
    save(frames, IMAGES / "page-run.gif")


def save(frames: list[tuple[Image.Image, int]], path: Path) -> None:
    """Write an animation whose frames share one palette, so that what stays costs nothing."""
    chosen = [frame for frame, _ in frames[:: max(1, len(frames) // 12)]]
    sheet = Image.new("RGB", (chosen[0].width, chosen[0].height * len(chosen)))
    for number, frame in enumerate(chosen):
        sheet.paste(frame, (0, frame.height * number))
    palette = sheet.quantize(NUM_COLOURS, dither=Image.Dither.NONE)
    first, *others = (f.quantize(palette=palette, dither=Image.Dither.NONE) for f, _ in frames)
    times = [milliseconds for _, milliseconds in frames]
    first.save(path, save_all=True, append_images=others, duration=times, loop=0, optimize=False)
    if (size := path.stat().st_size) > MOST_BYTES:
        sys.exit(f"{path} has {size:,} bytes, at most {MOST_BYTES:,} are wanted")


def translate(page: Page, take: Take) -> None:
    words = page.locator("#target .w")
    expect(words.first).to_be_visible()
    for word in range(4):
        words.nth(word).hover()
        take(500)
    doubtful = page.locator("#target .is-doubtful")
    (doubtful if doubtful.count() else words).first.hover()
    take(1600)


def scroll_to_tabs(page: Page) -> None:
    page.locator(".tabs").evaluate("(e) => scrollTo(0, e.offsetTop)")


def follow_attention(page: Page, take: Take) -> None:
    page.locator("#tab-model").click()
    expect(page.locator(".attention .scroll canvas")).to_be_visible()
    for _ in range(4):
        scroll_to_tabs(page)
        take(420)
        page.get_by_label("Step forward").click()
    take(1600)


def follow_search(page: Page, take: Take) -> None:
    page.locator("#tab-model").click()
    page.locator("#panel-model label:has([value=search])").click()
    expect(page.locator(".tree svg")).to_be_visible()
    for _ in range(6):
        scroll_to_tabs(page)
        take(420)
        page.get_by_label("Step forward").click()
    take(1600)


def watch_engine(page: Page, take: Take) -> None:
    """Each text is new, because the server remembers what it translated."""
    page.locator("#to").select_option("zh")
    page.locator("#tab-engine").click()
    first = 1000 * page.evaluate("innerWidth")
    for moment in range(24):
        lines = [
            f"I have {first + moment * 31 + line} books, and you may read {line} if it rains."
            for line in range(4 + moment * 7 % 11)
        ]
        page.locator("#source").fill("\n".join(lines))
        page.wait_for_timeout(600)
        scroll_to_tabs(page)
        if moment > 12:
            take(300)


def paste_formatted(page: Page, _: Take) -> None:
    page.locator("#from").select_option("en")
    page.locator("#to").select_option("de")
    items = "<ul><li>Please come back <i>tomorrow</i>.</li></ul>"
    paste(page, f"<h2>The library</h2><p>It is <b>closed</b> today.</p>{items}")
    expect(page.locator("#target li")).to_be_visible()
    expect(page.locator("#sentences article")).to_have_count(3)


if __name__ == "__main__":
    main(sys.argv[1])
