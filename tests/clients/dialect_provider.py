"""Dialect's provider for LibreTranslate, as its window uses it, against the server at a URL.

Run by the Python of Debian, which has GLib: python3 dialect_provider.py URL DIRECTORY
"""

from __future__ import annotations

import json
import sys
from typing import Any

_SECONDS = 30


def main() -> None:
    url, directory = sys.argv[1:]
    sys.path.insert(0, directory)
    import gi

    gi.require_version("Soup", "3.0")
    from dialect.session import Session
    from dialect.translators.libretrans import Translator
    from gi.repository import GLib

    loop = GLib.MainLoop()
    GLib.timeout_add_seconds(_SECONDS, loop.quit)
    started: list[object] = []

    def on_started(*result: object) -> None:
        started.extend(result)
        loop.quit()

    provider = Translator(on_started, base_url=url.removeprefix("http://"))
    loop.run()

    def send(method: str, address: str, data: dict[str, Any] | None = None) -> Any:
        got: list[Any] = []

        def on_answer(session: Any, result: Any) -> None:
            got.append(Session.get_response(session, result))
            loop.quit()

        message = Session.create_message(method, address, data or {})
        Session.get().send_and_read_async(message, 0, None, on_answer)
        loop.run()
        return got[0]

    def translate(text: str, source: str, target: str) -> str:
        method, data, _, _ = provider.format_translation(text, source, target)
        try:
            found, _ = provider.get_translation(send(method, provider.translate_url, data))
        except Exception as error:  # Dialect's own classes of errors
            return type(error).__name__
        return str(found.text)

    suggestion, _ = provider.format_suggestion("Hi.", "en", "de", "Servus.")
    answers = {
        "started": started,
        "is_valid": provider.validate_instance(
            send("GET", provider.format_url(provider.instance_url, provider.validation_path))
        ),
        "languages": provider.languages,
        "most_characters": provider.chars_limit,
        "text": translate("Hi.", "en", "de"),
        "detected": translate("Das ist ein Satz in deutscher Sprache.", "auto", "en"),
        "unknown language": translate("Hi.", "en", "xx"),
        "too long": translate("x" * 20_001, "en", "de"),
        "suggested": provider.get_suggestion(send("POST", provider.suggest_url, suggestion)),
    }
    sys.stdout.write(json.dumps(answers))


main()
