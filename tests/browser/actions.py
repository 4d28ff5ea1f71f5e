"""What a person does on the page."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site


def visit(page: Page, site: Site, path: str = "", source: str = "en", target: str = "de") -> None:
    """Open the page with these languages, and wait until it knows the server's."""
    page.goto(site.url + (path or f"?source={source}&target={target}"))
    expect(page.locator("#from option")).not_to_have_count(0)


def write(page: Page, text: str) -> None:
    page.locator("#source").fill(text)


def expect_translation(page: Page, text: str) -> None:
    """The translation is `text`, and complete."""
    expect(page.locator("#target")).to_have_text(text, use_inner_text=False)
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "false")


def translate(page: Page, text: str) -> None:
    """Write a text and wait for its translation, which is the text in capitals."""
    write(page, text)
    expect_translation(page, text.upper())


def expect_stale(page: Page, text: str) -> None:
    """The translation `text` is still there, marked as one of an older text, and not copied."""
    expect(page.locator("#target")).to_have_text(text)
    expect(page.locator("#translation")).to_have_class(re.compile("is-stale"))
    expect(page.locator("#copy")).to_be_disabled()


def open_tab(page: Page, name: str) -> None:
    page.locator(f"#tab-{name}").click()
    expect(page.locator(f"#panel-{name}")).to_be_visible()


def sent_messages(page: Page) -> list[dict[str, Any]]:
    """The messages that the page sends over its websockets, as they come."""
    sent: list[dict[str, Any]] = []
    page.on(
        "websocket",
        lambda socket: socket.on("framesent", lambda frame: sent.append(json.loads(frame))),
    )
    return sent


def requests_in(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those that cancel."""
    return [message for message in messages if not message.get("cancel")]


PASTE = """([html, plain, target]) => {
  const data = new DataTransfer();
  data.setData('text/html', html);
  data.setData('text/plain', plain);
  const event = new ClipboardEvent('paste',
    {clipboardData: data, bubbles: true, cancelable: true});
  document.querySelector(target).dispatchEvent(event);
  return event.defaultPrevented;
}"""


def paste(page: Page, html: str, plain: str = "plain", target: str = "#source") -> bool:
    """Paste as a browser does; whether the page took it."""
    taken: bool = page.evaluate(PASTE, [html, plain, target])
    return taken


def choose(page: Page, *files: tuple[str, bytes]) -> None:
    """Choose files by name and content."""
    page.locator("#file").set_input_files(
        [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in files]
    )
