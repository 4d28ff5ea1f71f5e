"""Weblate's machinery for LibreTranslate and DeepL against the server at a URL.

Run by the Python of an environment with Weblate: python weblate_machinery.py URL
"""

from __future__ import annotations

import json
import sys
from typing import Any
from unittest.mock import MagicMock

_DRAWING = ("cairo", "gi", "gi.repository")
"""Libraries that draw text into pictures. Weblate imports them, and no machinery uses them."""


def _set_up() -> None:
    """Weblate's example settings, without a database server, a cache server and a log."""
    sys.modules |= dict.fromkeys(_DRAWING, MagicMock())
    import django
    from django.conf import settings
    from weblate import settings_example

    names = filter(str.isupper, dir(settings_example))
    given = {name: getattr(settings_example, name) for name in names}
    memory = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    given |= {
        "CHECK_LIST": ("weblate.checks.format.CFormatCheck",),
        "CACHES": {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
        "DATABASES": {"default": memory},
        "LOGGING": {"version": 1},
    }
    settings.configure(**given)
    django.setup()


def _tried(machine: Any) -> dict[str, Any]:
    from weblate.checks.tests.test_checks import MockUnit

    def unit(text: str, code: str = "de") -> Any:
        made = MockUnit(code=code, source=text, flags="c-format")
        made.translated = False
        return made

    def translate(text: str, code: str) -> list[str]:
        found = machine.translate(unit(text, code))
        return [one["text"] for plural in found for one in plural]

    units = [unit("Hello, %s!"), unit("%d <b>files</b>")]
    machine.batch_translate(units)
    machine.validate_settings()
    codes = ("de", "zh_Hans", "zh_CN", "de_AT", "xx")
    return {
        "languages": sorted(map(str, machine.download_languages())),
        "texts": {code: translate("Hello, %s!", code) for code in codes},
        "batch": [one.machinery["translation"] for one in units],
    }


def main() -> None:
    _set_up()
    from weblate.machinery.deepl import DeepLTranslation
    from weblate.machinery.libretranslate import LibreTranslateTranslation

    url = sys.argv[1]
    deepl = {"url": f"{url}/v2/", "key": "key", "formality": "prefer_more", "context": "A letter."}
    answers = {
        "LibreTranslate": _tried(LibreTranslateTranslation({"url": f"{url}/", "key": "key"})),
        "DeepL": _tried(DeepLTranslation(deepl)),
    }
    sys.stdout.write(json.dumps(answers))


main()
