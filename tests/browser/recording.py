"""Record docs/images/page-run.gif: python -m tests.browser.recording URL of a server that runs.

Needs Chromium and Pillow. Frames are pictures of the page with the time that each is shown, so that
the recording stays small.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import CHROMIUM

RECORDING = Path(__file__).parents[2] / "docs" / "images" / "page-run.gif"
SIZE = {"width": 960, "height": 660}
TEXT = "The library is closed today, because the river is very high."
MOST_BYTES = 3_000_000
_NUM_COLOURS = 192
_BRIEF, _LONG = 110, 1600


class Recording:
    """The frames of a page and their milliseconds."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._frames: list[Image.Image] = []
        self._milliseconds: list[int] = []

    def take(self, milliseconds: int = _BRIEF) -> None:
        """Show the page as it is now for so long."""
        picture = Image.open(io.BytesIO(self._page.screenshot())).convert("RGB")
        self._frames.append(picture)
        self._milliseconds.append(milliseconds)

    def save(self, path: Path) -> None:
        """Write an animation whose frames share one palette, so that what stays costs nothing."""
        palette = _joined(self._frames).quantize(_NUM_COLOURS, dither=Image.Dither.NONE)
        frames = [f.quantize(palette=palette, dither=Image.Dither.NONE) for f in self._frames]
        frames[0].save(
            path,
            save_all=True,
            append_images=frames[1:],
            duration=self._milliseconds,
            loop=0,
            optimize=False,
        )


def _joined(frames: list[Image.Image]) -> Image.Image:
    chosen = frames[:: max(1, len(frames) // 12)]
    sheet = Image.new("RGB", (SIZE["width"], SIZE["height"] * len(chosen)))
    for number, frame in enumerate(chosen):
        sheet.paste(frame, (0, SIZE["height"] * number))
    return sheet


def main(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(
            locale="en-GB",
            viewport=SIZE,  # type: ignore[arg-type]
        )
        page = context.new_page()
        page.goto(f"{url}?source=auto&target=de")
        recording = Recording(page)
        translating(page, recording)
        if httpx.post(f"{url}translate/next", json={}).status_code != httpx.codes.NOT_FOUND:
            other_words(page, recording)
        attention(page, recording)
        search(page, recording)
        engine(page, recording)
        recording.save(RECORDING)
        browser.close()
    if (size := RECORDING.stat().st_size) > MOST_BYTES:
        sys.exit(f"{RECORDING} has {size:,} bytes, at most {MOST_BYTES:,} are wanted")


def translating(page: Page, recording: Recording) -> None:
    recording.take(700)
    for start in range(0, len(TEXT), 3):
        page.locator("#source").press_sequentially(TEXT[start : start + 3], delay=30)
        recording.take()
    expect(page.locator("#target .w").first).to_be_visible()
    recording.take(_LONG)
    for word in range(4):
        page.locator("#target .w").nth(word).hover()
        recording.take(500)
    recording.take(_LONG)


def other_words(page: Page, recording: Recording) -> None:
    page.locator("#target .w").nth(1).click()
    expect(page.locator("#next-words button").first).to_be_visible()
    recording.take(_LONG)
    page.locator("#next-words button").nth(1).click()
    page.wait_for_timeout(800)
    recording.take(_LONG)


def _scroll_to(page: Page, selector: str) -> None:
    page.locator(selector).evaluate("(e) => scrollTo(0, e.offsetTop - 12)")


def attention(page: Page, recording: Recording) -> None:
    page.locator("#tab-model").click()
    expect(page.locator(".attention .scroll canvas")).to_be_visible()
    _scroll_to(page, ".tabs")
    recording.take(900)
    for _ in range(7):
        page.get_by_label("Step forward").click()
        recording.take(420)
    page.get_by_label("Layer 1, head 3").click()
    recording.take(_LONG)


def search(page: Page, recording: Recording) -> None:
    page.locator("#panel-model label:has([value=search])").click()
    expect(page.locator(".tree svg")).to_be_visible()
    _scroll_to(page, ".tabs")
    recording.take(700)
    while page.locator(".stepper input").input_value() != "9":
        page.get_by_label("Step forward").click()
        recording.take(420)
    recording.take(_LONG)


def engine(page: Page, recording: Recording) -> None:
    """Each text is new, because the server remembers what it translated."""
    page.locator("#tab-engine").click()
    for moment in range(16):
        lines = [
            f"I have {moment * 31 + line} books, and you may read {line} of them if it rains."
            for line in range(4 + moment * 7 % 11)
        ]
        page.locator("#source").fill("\n".join(lines))
        page.wait_for_timeout(420)
        _scroll_to(page, ".tabs")
        if moment > 3:
            recording.take(300)
    recording.take(_LONG)


if __name__ == "__main__":
    main(sys.argv[1])
